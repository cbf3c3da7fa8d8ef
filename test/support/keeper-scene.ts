import { chmodSync, existsSync, mkdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { systemClock } from "../../src/clock.ts";
import { serviceDefaults } from "../../src/model/service/service.ts";
import { type Reason, renderReason } from "../../src/reason/reason.ts";
import { processIds } from "../../src/runner/process/process-tree.ts";
import type { WantedOutput, WireService } from "../../src/runner/protocol.ts";
import { openRoutes, type ProxySettings, type Routes } from "../../src/runner/route/routes.ts";
import { instanceFoldersIn } from "../../src/runner/service/instance-folder.ts";
import type { DeployProgress, ServiceRelease } from "../../src/runner/service/service-release.ts";
import { openServices, type Services, type ServicesOptions } from "../../src/runner/service/services.ts";
import { type Execution, openExecution } from "../../src/runner/stage/execution.ts";
import { eventually } from "./eventually.ts";
import { testImage } from "./podman.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { noProxy } from "./test-runner.ts";

/** How a service is separated from the machine. */
export type ServiceKind = "sandbox" | "none" | "container";

/** A service that takes a lock, so that a second copy is seen, and says what it gets. */
const witness = `exec 9>>"$DATA/lock"
flock -n 9 || { echo two >>"$DATA/violations"; exit 9; }
echo "$$" >>"$DATA/starts"
env >"$DATA/env"
ls -l /proc/self/fd >"$DATA/descriptors" 2>/dev/null || :
trap 'echo term >>"$DATA/terms"; exit 0' TERM
echo started
while :; do sleep 1 & wait "$!" || :; done`;

/** Passes as soon as the witness runs. */
export const witnessCheck = { http: "", tcp: "", command: `test -s "$DATA/env"`, expect: "", within: 30 };

/** The same, but it ignores SIGTERM. */
export const stubborn = (script: string) =>
  script.replace(/trap '.*' TERM/, `trap 'echo term >>"$DATA/terms"' TERM`);

const log = pino({ level: "silent" });
const usualOutput = { maxBytes: 100_000_000, maxAgeMs: 14 * 86_400_000 };

export function openScriptExecution(root: string, kind: ServiceKind, podman = ""): Promise<Execution> {
  return openExecution(
    {
      user: undefined,
      isolation: kind === "sandbox" ? "sandbox" : "none",
      sandboxPaths: [],
      hostSteps: false,
      secretPaths: [root],
      engine: kind === "container" ? "podman" : "none",
      engineArguments: podman.split(",").filter((argument) => argument !== ""),
      image: undefined,
      bounds: { memoryBytes: null, cpus: null },
    },
    root,
    log,
  );
}

type SceneOptions = Omit<ServicesOptions, "routes">;

function optionsOf(root: string, execution: Execution): SceneOptions {
  return {
    ...{ root, execution, output: usualOutput, clock: systemClock, log },
    ports: { first: 20_000, last: 29_999 },
    env: { ...process.env, LEAKED: "from the runner" },
  };
}

export async function openSilentServices(
  root: string,
  execution: Execution,
  proxy: ProxySettings = noProxy,
): Promise<Services> {
  const routes = await openRoutes({ ...proxy, root, env: process.env, log });
  return openServices({ ...optionsOf(root, execution), routes });
}

export const silentProgress: DeployProgress = {
  begin: async () => true,
  end: async () => {},
  line() {},
  output() {},
  replacing: async () => true,
  runSwitch: ({ switch: script }) => (script === "hang" ? new Promise(() => {}) : Promise.resolve(null)),
};

export async function openServiceScene(
  kind: ServiceKind,
  { podman = "", output = usualOutput, proxy = noProxy } = {},
) {
  const top = temporaryFolder("services");
  const root = join(top, "runner");
  mkdirSync(root);
  chmodSync(root, 0o711);
  const options = { ...optionsOf(root, await openScriptExecution(root, kind, podman)), output };
  const opened: Services[] = [];
  const openedRoutes: Routes[] = [];

  /** A runner of this folder; the one before is as good as killed. */
  async function open(): Promise<Services> {
    opened.at(-1)?.close();
    openedRoutes.at(-1)?.close();
    const routes = await openRoutes({ ...proxy, root, env: process.env, log });
    openedRoutes.push(routes);
    const services = await openServices({ ...options, routes });
    opened.push(services);
    await services.resume();
    return services;
  }

  function folder(name: string): string {
    const path = join(top, name);
    mkdirSync(path, { recursive: true });
    chmodSync(path, 0o777);
    return path;
  }

  const data = folder("data");
  const source = folder("source");
  let taskId = 0;

  const service = (name: string, command: string, more: Partial<WireService> = {}): WireService => ({
    ...serviceDefaults,
    ...{ name, command, port: "none", drain: 0, stopGrace: 2 },
    ...(kind === "container" ? { image: testImage } : {}),
    ...more,
  });

  function release(services: WireService[], more: Partial<ServiceRelease> = {}): ServiceRelease {
    taskId += 1;
    return {
      ...{
        projectId: 7,
        taskId,
        commit: "c".repeat(40),
        services,
        workspace: join(top, `release-${taskId}`),
      },
      ...{ source, isReadOnly: true, writable: [data] },
      resources: { memoryBytes: null, cpus: null, processes: null, nice: 0 },
      variables: { DATA: data, CI_COMMIT: "c".repeat(40), TOKEN: "s3cret-value" },
      secrets: ["TOKEN"],
      files: [],
      ...more,
    };
  }

  const events: string[] = [];
  const printed: string[] = [];
  const progress: DeployProgress = {
    async begin(name) {
      events.push(`begin ${name}`);
      return true;
    },
    async end(name, { state, reason }) {
      events.push(`end ${name} ${state} ${renderReason(reason)}`.trim());
    },
    line: (name: string, text: Reason) => void events.push(`line ${name} ${renderReason(text)}`),
    output: (_name, bytes) => void printed.push(Buffer.from(bytes).toString()),
    async replacing() {
      events.push("replacing");
      return true;
    },
    async runSwitch(each, port) {
      events.push(`switch ${each.name} ${port === null ? "none" : "port"}`);
      return null;
    },
  };

  let services = await open();
  const linesOf = (file: string) => {
    const path = join(data, file);
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  };
  /** Processes on this machine that hold the lock of the witness. */
  const copies = () =>
    (processIds() ?? []).filter((pid) => linkOf(`/proc/${pid}/fd/9`) === join(data, "lock"));

  /** Copies at the same time, as the machine sees them: the image of the tests has no flock. */
  const seen: string[] = [];
  const sampling = setInterval(() => {
    if (kind !== "container") return;
    const spaces = new Set(copies().flatMap((pid) => linkOf(`/proc/${pid}/ns/pid`) ?? []));
    if (spaces.size > 1) seen.push("two");
  }, 20);

  return {
    root,
    witness: kind === "container" ? witness.replace(/^flock.*\n/m, "") : witness,
    violations: () => [...seen, ...linesOf("violations")],
    data,
    source,
    options,
    events,
    printed,
    progress,
    service,
    release,
    folder,
    linesOf,
    copies,
    services: () => services,
    /** What a runner that starts now finds. */
    async reopen(): Promise<Services> {
      services = await open();
      return services;
    },
    deploy: (given: ServiceRelease, stop = new AbortController().signal) =>
      services.deploy(given, progress, stop),
    report: (name = "web") => services.reports().find((each) => each.name === name),
    state: (name = "web") => services.reports().find((each) => each.name === name)?.state,
    serves: (name = "web") =>
      eventually(`${name} serves`, () =>
        services.reports().some((each) => each.name === name && each.state === "serving"),
      ),
    read: (more: Partial<WantedOutput> = {}) =>
      services.read(
        {
          ...{ id: "1", projectId: 7, name: "web", position: null, direction: "forward", maxLines: 2000 },
          ...{ search: "", waitMs: 0, ...more },
        },
        new AbortController().signal,
      ),
    /** The folder of the newest instance. */
    instance: (name = "web") => instanceFoldersIn(join(root, "services"), 7, name).at(-1) ?? "",
    async stop(): Promise<void> {
      clearInterval(sampling);
      await services.stopAll();
      for (const each of [...opened, ...openedRoutes]) each.close();
    },
  };
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

export type ServiceScene = Awaited<ReturnType<typeof openServiceScene>>;
