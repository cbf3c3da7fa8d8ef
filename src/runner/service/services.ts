import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { ServiceReport } from "../../model/service/service.ts";
import { newReason, type Reason, renderReason } from "../../reason/reason.ts";
import { openFileCalls } from "../../system/file-calls.ts";
import { readProcessTable } from "../keeper/process-table.ts";
import type { OutputTextRequest, WantedOutput } from "../protocol.ts";
import type { Routes } from "../route/routes.ts";
import type { Execution } from "../stage/execution.ts";
import { failed, type StageEnd } from "../stage/stage-script.ts";
import { foldersIn } from "../workspace/folders.ts";
import { instanceFoldersIn, readInstance } from "./instance-folder.ts";
import { openProject, type ProjectParts, type ProjectServices } from "./project-services.ts";
import { readOutput } from "./read-output.ts";
import { reservePort } from "./service-ports.ts";
import type { DeployEnd, DeployProgress, ServiceRelease, StartProgress } from "./service-release.ts";

export interface ServicesOptions {
  /** The folder of the runner. */
  root: string;
  execution: Execution;
  /** Where ports for `$PORT` come from, both included. */
  ports: { first: number; last: number };
  /** Bounds of the output that is kept of one service. */
  output: { maxBytes: number; maxAgeMs: number };
  routes: Routes;
  /** The runner's own environment. */
  env: Record<string, string | undefined>;
  clock: Clock;
  log: Logger;
}

/** The services of a release that should run. */
export interface ServingRelease {
  taskId: number;
  commit: string;
  workspace: string;
  services: { name: string; state: ServiceReport["state"]; port: number | null; imageId: string }[];
}

export interface Services {
  /**
   * Makes the services of this release those of its project. Those with `$PORT` start beside the earlier ones and pass their
   * checks, then those that must stop first are replaced, then the scripts `switch` run, and the earlier ones end after their
   * drain, after this call. If anything fails, the new ones end; earlier ones that were ended start again. A release without
   * services ends all of the project.
   */
  deploy(release: ServiceRelease, progress: DeployProgress, stop: AbortSignal): Promise<DeployEnd>;
  /** Starts, stops or restarts services of the release that serves. An unknown name is a failure that says so. */
  act(
    projectId: number,
    action: "start" | "stop" | "restart",
    names: string[],
    progress: StartProgress,
    stop: AbortSignal,
  ): Promise<StageEnd>;
  /** Ends all services of a project that is served elsewhere, and its routes. */
  leave(projectId: number, progress: StartProgress, stop: AbortSignal): Promise<StageEnd>;
  /**
   * Does something while no service and no command of the project starts; what drains ends at once. `writer`: what runs all the
   * same, and may write to the data.
   */
  whileIdle<T>(projectId: number, work: (writer: Reason | null) => Promise<T>): Promise<T>;
  /** Runs a command of a person in the release that serves. */
  command<T>(projectId: number, stop: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** Null: the project has no services here. */
  serving(projectId: number): ServingRelease | null;
  /** Whether a service of this workspace runs, or should run. */
  isUsed(workspace: string): boolean;
  /** At the start of the runner: adopts what runs, starts what should run, ends what should not. */
  resume(): Promise<void>;
  /** Holds new requests to the routes of a project. Returns how to end that; null: the proxy cannot hold requests. */
  pause(projectId: number): Promise<(() => Promise<void>) | null>;
  reports(): ServiceReport[];
  /** The server has these reports: figures of requests are sent once. */
  sent(reports: readonly ServiceReport[]): void;
  /** Called at each change of a report, apart from memory and processor time; returns how to end that. */
  onChange(listener: () => void): () => void;
  /** Text of a service's output, masked. */
  read(wanted: WantedOutput, stop: AbortSignal): Promise<OutputTextRequest>;
  /** Ends all services. Those that should run start again with `resume`. */
  stopAll(): Promise<void>;
  /** Ends the watch. The services go on. */
  close(): void;
}

/** How often the states of services are looked at, and their memory, processor time and output. */
const lookEveryMs = 250;
const measureEveryMs = 10_000;
/** Without sandbox and container, the keeper starts a service by setsid. */
const programs = ["sh", "flock", "setsid", "du"];

/** What keeps services from running on this machine; null: nothing. */
function lackOf(): Reason | null {
  if (process.platform !== "linux") return newReason("services_need_linux");
  const missing = programs.filter((name) => Bun.which(name) === null);
  return missing.length === 0 ? null : newReason("services_need_programs", { programs: missing.join(", ") });
}

/** A release without services. */
const nothing: Omit<ServiceRelease, "projectId"> = {
  ...{ taskId: 0, commit: "", workspace: "", source: "", isReadOnly: true, services: [], files: [] },
  ...{ writable: [], variables: {}, secrets: [] },
  resources: { memoryBytes: null, cpus: null, processes: null, nice: 0 },
};

/** The services that this runner keeps running. */
export async function openServices(options: ServicesOptions): Promise<Services> {
  const { clock, log, execution } = options;
  const root = join(options.root, "services");
  const calls = await openFileCalls();
  const projects = new Map<number, ProjectServices>();
  const listeners = new Set<() => void>();
  const parts: ProjectParts = {
    root,
    execution,
    calls,
    clock,
    log,
    routes: options.routes,
    own: options.env,
    bounds: options.output,
    changed() {
      for (const listener of listeners) listener();
    },
    reservePort: (record) => {
      mkdirSync(root, { recursive: true, mode: 0o711 });
      return reservePort(root, options.ports, { calls, taken, record });
    },
  };

  function project(id: number): ProjectServices {
    const known = projects.get(id) ?? openProject(id, parts);
    projects.set(id, known);
    return known;
  }

  const ids = () =>
    foldersIn(root)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);

  /** Ports of all instances that may run, also of other processes of this runner's folder. */
  function taken(): Set<number> {
    const records = ids().flatMap((id) =>
      foldersIn(join(root, String(id))).flatMap((name) =>
        instanceFoldersIn(root, id, name).map(readInstance),
      ),
    );
    return new Set(records.flatMap((record) => record?.port ?? []));
  }

  /** A timer must not end the runner with all its tasks. */
  function guarded(work: () => void | Promise<void>): () => void {
    return () =>
      void Promise.try(work).catch((error: unknown) =>
        log.error({ error: messageOf(error) }, "the services could not be looked at"),
      );
  }

  const looking = setInterval(
    guarded(() => {
      for (const each of projects.values()) each.look();
    }),
    lookEveryMs,
  );
  const measuring = setInterval(
    guarded(async () => {
      const table = readProcessTable();
      for (const each of projects.values()) {
        for (const instance of each.shown()) instance.measure(table);
        await each.output.limit();
      }
    }),
    measureEveryMs,
  );
  looking.unref();
  measuring.unref();

  const used = () =>
    [...projects.values()].flatMap((each) => [
      ...each.all().map(({ record }) => record.workspace),
      each.wanted()?.workspace ?? "",
    ]);

  return {
    async deploy(release, progress, stop) {
      const lack = release.services.length === 0 ? null : lackOf();
      if (lack !== null) return { ...failed(lack), earlier: "none" };
      return project(release.projectId).deploy(release, progress, stop);
    },
    act: (projectId, ...given) => project(projectId).act(...given),
    async leave(projectId, progress, stop) {
      const { earlier: _earlier, ...end } = await project(projectId).deploy(
        { ...nothing, projectId },
        { ...progress, replacing: async () => true, runSwitch: async () => null },
        stop,
      );
      return end;
    },
    whileIdle: (projectId, work) => project(projectId).whileIdle(work),
    command: (projectId, ...given) => project(projectId).command(...given),
    serving(projectId) {
      const known = projects.get(projectId);
      const wanted = known?.wanted() ?? null;
      if (known === undefined || wanted === null) return null;
      const services = known.shown().map((instance) => {
        const { port, imageId } = instance.record;
        return { name: instance.name, state: instance.state(), port, imageId };
      });
      return { taskId: wanted.taskId, commit: wanted.commit, workspace: wanted.workspace, services };
    },
    isUsed: (workspace) => used().includes(workspace),
    async resume() {
      const results = await Promise.allSettled(ids().map((id) => project(id).resume()));
      for (const result of results)
        if (result.status === "rejected")
          log.error({ error: messageOf(result.reason) }, "the services of a project could not be read");
      // After the link of each project is right.
      await options.routes.resume();
    },
    pause: options.routes.pause,
    sent: options.routes.sent,
    reports: () =>
      [...projects.values()].flatMap((each) =>
        each.shown().map((instance) => {
          const { projectId, service } = instance.record;
          return { ...instance.report(), ...options.routes.report(projectId, service) };
        }),
      ),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async read(wanted, stop) {
      const outputs = project(wanted.projectId).output.of(wanted.name);
      if (outputs.length > 0) return readOutput(outputs, wanted, stop);
      const fault = renderReason(newReason("service_unknown", { name: wanted.name }));
      return { id: wanted.id, lines: [], next: 0, from: 0, to: 0, marks: [], fault };
    },
    async stopAll() {
      close();
      await Promise.all(
        [...projects.values()].flatMap((each) => each.all().map((instance) => instance.stop())),
      );
      await options.routes.stop();
    },
    close,
  };

  function close(): void {
    clearInterval(looking);
    clearInterval(measuring);
    for (const each of projects.values()) each.close();
  }
}
