import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RunTask } from "../../src/runner/protocol.ts";
import { type AttackScene, attacks, makeAttackScene, readAttack } from "../support/attacks.ts";
import { eventually } from "../support/eventually.ts";
import { type FakeServer, sampleInstruction, startFakeServer } from "../support/fake-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { testImage } from "../support/podman.ts";
import { startRunnerProcess } from "../support/runner-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;
const [podman, bwrap] = [await serviceUrl("podman"), await serviceUrl("bwrap")];

type Scripts = Parameters<typeof sampleInstruction>[1];

interface Scene {
  root: string;
  run(scripts: Scripts, more?: Partial<RunTask>): Promise<{ state: string; reason: string; text: string }>;
  log(): Promise<string>;
  stop(): Promise<void>;
}

let repository: GitRepository;
let attacked: AttackScene;

function startScene(settings: Record<string, string>, image?: string): Scene {
  const server: FakeServer = startFakeServer();
  const root = temporaryFolder("sandbox");
  const given = {
    SLIPWAY_RUNNER_TOKEN_FILE: attacked.places.token ?? "",
    SLIPWAY_CONFIG: attacked.places.settings ?? "",
    SLIPWAY_RUNNER_DIR: root,
    SLIPWAY_RUNNER_ENGINE: "none",
    ...settings,
  };
  const flags = ["--data-dir", dirname(attacked.places.data ?? "")];
  const runner = startRunnerProcess(server.url, null, 1, given, { flags });
  let nextId = 1;
  return {
    root,
    log: runner.log,
    async run(scripts, more = {}) {
      const taskId = nextId++;
      const from = server.lines.length;
      const instruction = sampleInstruction(repository.url, scripts, { taskId, logFrom: from, ...more });
      const stages = instruction.stages.map((stage) => ({
        ...stage,
        steps: stage.steps.map((step) => (image === undefined ? step : { ...step, image })),
      }));
      server.instructions.push({ ...instruction, stages });
      const found = () => server.finished.find((each) => each.taskId === taskId);
      await eventually(`task ${taskId} ends`, () => found() !== undefined);
      const text = server.lines.slice(from).map((line) => line.text);
      return { state: found()?.state ?? "", reason: found()?.reason ?? "", text: text.join("\n") };
    },
    async stop() {
      await runner.stop();
      server.stop();
    },
  };
}

function scriptsUser(): { uid: number; gid: number } {
  Bun.spawnSync(["useradd", "--system", "--user-group", "--home-dir", "/home/slipway-run", "slipway-run"]);
  const entry = Bun.spawnSync(["getent", "passwd", "slipway-run"]).stdout.toString().split(":");
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}

beforeAll(async () => {
  if (!isRoot) return;
  repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
  attacked = makeAttackScene(scriptsUser());
});
afterAll(() => attacked?.remove());

type Level = [string, Record<string, string>, string | undefined];
const sandbox: Level = ["sandbox", { SLIPWAY_RUNNER_ISOLATION: "sandbox" }, undefined];
const levels: Level[] = [
  ...(bwrap === undefined ? [] : [sandbox]),
  ...(podman === undefined
    ? []
    : [
        [
          "container",
          { SLIPWAY_RUNNER_ENGINE: "podman", SLIPWAY_RUNNER_ENGINE_ARGUMENTS: podman },
          testImage,
        ] as [string, Record<string, string>, string],
      ]),
];

describe.skipIf(!isRoot).each(levels)("a script in a %s", (level, settings, image) => {
  let scene: Scene;
  beforeAll(() => {
    scene = startScene(settings, image);
  });
  afterAll(() => scene.stop());

  // Whether a container may create user namespaces is a rule of its engine: docker forbids it, podman does not.
  const held = Object.keys(attacks).filter((name) => level === "sandbox" || !name.includes("namespace"));
  test.each(held)("does not reach %s", async (name) => {
    const { state, text } = await scene.run({ build: attacks[name]?.(attacked) ?? "" });
    expect(text).toContain("looked");
    expect(text).not.toContain("REACHED");
    expect(state).toBe("success");
  });

  test("does not reach the workspace and the cache of another project, also through a link", async () => {
    const cache = { cache: ["deps"] };
    await scene.run({ build: "echo mine >deps/tool; echo mine >made" }, { ...cache, projectId: 71 });
    const work = readdirSync(scene.root)
      .map((name) => join(scene.root, name))
      .filter((path) => statSync(path).isDirectory());
    for (const path of work) {
      const { text } = await scene.run({ build: readAttack(path) }, { projectId: 72 });
      expect(text).toContain("looked");
      expect(text.replaceAll(`REACHED ${scene.root}/releases\n`, "")).not.toContain("REACHED /");
    }
    const attack = `for f in $(find ${scene.root} -name made -o -name tool 2>/dev/null); do echo "REACHED $f"; done; echo looked`;
    const { text } = await scene.run({ build: attack }, { projectId: 72 });
    expect(text).toContain("looked");
    expect(text).not.toContain("REACHED");
  });

  test("leaves nothing in HOME and /tmp for a later one", async () => {
    const build =
      'printf "[core]\\n\\tfsmonitor = touch /tmp/evil\\n" >$HOME/.gitconfig; mkdir -p $HOME/out; echo evil >$HOME/out/app; ln -s $HOME/out bin; echo evil >/tmp/evil; echo home=$HOME';
    const deploy =
      'for f in $HOME/.gitconfig /tmp/evil bin/app; do if [ -e $f ]; then echo "REACHED $f"; fi; done; test -w $HOME && echo home-writable; echo looked';
    const { state, text } = await scene.run({ build, deploy });
    expect(text).toContain("home-writable\nlooked");
    expect(text).not.toContain("REACHED");
    expect(state).toBe("success");
    const later = await scene.run({ deploy });
    expect(later.text).not.toContain("REACHED");
  });

  test("ends with everything that it started, also with a daemon without environment", async () => {
    const seconds = `${40_000 + Math.floor(Math.random() * 10_000)}`;
    const build = `env -i setsid sh -c '(trap "" TERM; sleep ${seconds}; sleep ${seconds}) >/dev/null 2>&1 &'; sleep 0.3`;
    const { state } = await scene.run({ build });
    expect(state).toBe("success");
    expect(Bun.spawnSync(["pgrep", "-f", `sleep ${seconds}`]).stdout.toString()).toBe("");
  });

  test("has no network if its stage has none", async () => {
    const instruction = sampleInstruction(repository.url, { build: "cat /proc/net/dev; echo looked" });
    const stages = instruction.stages.map((stage) => ({
      ...stage,
      steps: stage.steps.map((step) => ({ ...step, network: "none" as const })),
    }));
    const { state, text } = await scene.run({}, { stages });
    expect(state).toBe("success");
    expect(text).toContain("looked");
    expect(text).not.toMatch(/eth|ens|wlan|veth/);
  });

  test("gets its variables as they are written, and they reach no program before it", async () => {
    const env = {
      LD_DEBUG: "files",
      LD_DEBUG_OUTPUT: "/tmp/linker",
      ODD: 'it\'s "me"\n$HOME `x` \\ $(id)\t#',
      UID: "1000",
      IFS: "/",
    };
    const build = "printf '%s|' \"$ODD\" | od -c | tail -3; echo done; ls /tmp";
    const { state, text } = await scene.run({ build }, { env });
    expect(state).toBe("success");
    expect(text).toContain("done");
    expect(readdirSync("/tmp").filter((name) => name.startsWith("linker"))).toEqual([]);
  });

  if (level === "sandbox")
    test("shows what the machine has for programs, and its own processes, folders and names alone", async () => {
      const build = [
        'id -un; grep -E "^(Cap(Eff|Prm|Bnd)|NoNewPrivs)" /proc/self/status; git log -1 --format=%s',
        'test -w "$CI_WORKSPACE" && touch /tmp/a /dev/shm/b /var/tmp/c && echo writable',
        'for d in / /usr /etc /dev /run "$(dirname "$0")"; do touch $d/x 2>/dev/null && echo "WRITES $d"; done',
        "echo processes $(ls -d /proc/[0-9]* | wc -l); getent hosts localhost; ls -a /home /root 2>/dev/null || true; env | sort",
      ].join("\n");
      const { state, text } = await scene.run({ build });
      expect(text).toContain("slipway-run\n");
      expect(text).toContain("CapPrm:\t0000000000000000");
      expect(text).toContain("CapBnd:\t0000000000000000");
      expect(text).toContain("NoNewPrivs:\t1");
      expect(text).toContain("Change\n");
      expect(text).toContain("writable");
      expect(text).not.toContain("WRITES");
      expect(Number(/processes (\d+)/.exec(text)?.[1])).toBeLessThan(8);
      expect(text).toContain("HOME=/home/slipway-run");
      expect(state).toBe("success");
    });
});

describe.skipIf(!isRoot)("a script without isolation", () => {
  test("reaches what its user can read, which the log of the runner says", async () => {
    const scene = startScene({ SLIPWAY_RUNNER_ISOLATION: "none" });
    try {
      const reached: string[] = [];
      for (const [name, attack] of Object.entries(attacks)) {
        const { text } = await scene.run({ build: attack(attacked) });
        if (text.includes("REACHED")) reached.push(name);
      }
      // Rights of root stay out of reach: scripts of a root runner run as runner.user in any case.
      expect(reached).toEqual([
        "the environment of a running service",
        "a signal to a process outside",
        "a trace of a process outside",
        "a user namespace of its own",
        "the data folder",
        "the settings",
        "the token of the runner",
        ...(existsSync("/run/systemd") || existsSync("/run/dbus") ? ["sockets of the machine"] : []),
      ]);
      const { text } = await scene.run({ build: "id -un; test -w $HOME && echo home=$HOME" });
      expect(text).toContain("slipway-run\n");
      expect(text).toContain(`home=${scene.root}/`);
    } finally {
      await scene.stop();
    }
  });
});
