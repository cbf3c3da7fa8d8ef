import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import pino from "pino";
import { systemClock } from "../../src/clock.ts";
import { runProcess } from "../../src/runner/process/process.ts";
import { openWorkspaces } from "../../src/runner/workspace/workspace.ts";
import { watchProcesses } from "../support/process-watch.ts";
import { canMount, makeSmallDisk } from "../support/small-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let root: string;
let logLines: string[];
const options = (folder: string) =>
  ({
    ...{ root: folder, former: null, knownHosts: "", policy: "live" as const, clock: systemClock, log },
    isUsed: () => false,
  }) as const;
const log = pino({ level: "debug" }, { write: (line: string) => void logLines.push(line) });

beforeEach(() => {
  root = temporaryFolder("leftovers");
  logLines = [];
});

describe("a folder that cannot be removed", () => {
  /** As with files that a container wrote as another user. */
  const remove: typeof rm = async (path, options) => {
    if (basename(String(path)) === "1") throw new Error("EACCES: permission denied");
    await rm(path, options);
  };
  const open = () => openWorkspaces({ ...options(root), remove });

  test("is logged at the start of a runner, and the others are removed", async () => {
    const workspaces = open();
    for (const name of ["1", "2"]) {
      mkdirSync(join(root, "releases/7", name), { recursive: true });
      writeFileSync(join(root, "releases/7", name, "built.txt"), "built");
    }
    expect(await workspaces.sweep(100)).toBe(1);
    expect(readdirSync(join(root, "releases/7"))).toEqual(["1"]);
    expect(logLines.join("")).toContain("/1 could not be removed: EACCES: permission denied");
  });

  test("does not stop the deletion of other workspaces when a task succeeds", async () => {
    const workspaces = open();
    for (const taskId of [1, 2]) await workspaces.open(7, taskId, 1);
    const last = await workspaces.open(7, 3, 1);
    await last.close({ state: "kept", keep: 1 });
    expect(readdirSync(join(root, "releases/7")).toSorted()).toEqual(["1", "3"]);
  });
});

/** Runs a command; `changes` says how its machine differs. */
function run(command: string[], changes: Partial<Parameters<typeof runProcess>[0]>) {
  return runProcess({
    ...{ command, cwd: root, env: { PATH: process.env.PATH ?? "" }, timeoutMs: 60_000 },
    onOutput() {},
    stop: new AbortController().signal,
    killAt: (termedAt) => termedAt + 50,
    watch() {},
    ...changes,
  });
}

test("a process that cannot be killed is reported after a while, and the stage ends", async () => {
  const watch = watchProcesses();
  const stop = new AbortController();
  // As with a process of another user.
  const changes = { stop: stop.signal, send: () => false };
  const running = run(["sh", "-c", `echo $$ >>${watch.file}; exec sleep 300`], changes);
  const [pid = 0] = await watch.all(1);
  stop.abort();
  expect(await running).toMatchObject({ end: "stopped", exitCode: null, survivors: [pid] });
  process.kill(pid, "SIGKILL");
});

test("a command does not run before its processes are recorded", async () => {
  const ran = join(root, "ran");
  const running = run(["touch", ran], {
    watch() {
      Bun.sleepSync(500); // Time enough for a command that would run.
      throw new Error("the disk is full");
    },
  });
  await expect(running).rejects.toThrow("the disk is full");
  expect(existsSync(ran)).toBeFalse();
});

test("a command that was stopped before its processes were recorded does not run", async () => {
  const ran = join(root, "ran");
  const stop = new AbortController();
  const running = run(["touch", ran], {
    stop: stop.signal,
    // Time enough for a command that would run.
    killAt: (termedAt) => termedAt + 1000,
    watch: () => stop.abort(),
    send: () => true,
  });
  expect(await running).toMatchObject({ end: "stopped", survivors: [] });
  expect(existsSync(ran)).toBeFalse();
});

test.skipIf(!(await canMount()))(
  "a disk that is full during a rollback does not cost the kept release",
  async () => {
    await using disk = await makeSmallDisk(1);
    const workspaces = openWorkspaces(options(disk.path));
    const kept = await workspaces.open(7, 1, 1);
    mkdirSync(kept.source);
    await kept.close({ state: "kept", keep: 1 });
    const rollback = await workspaces.reopen(7, 1, 1);
    disk.fill();
    const noteAll = () => {
      for (let stage = 0; stage < 100; stage++)
        rollback?.noteTree({ leader: 999_999_999, startedAt: "", boot: "b".repeat(100) });
    };
    expect(noteAll).toThrow("ENOSPC");
    expect(await workspaces.sweep(100)).toBe(0);
    expect((await workspaces.reopen(7, 1, 1))?.source).toBe(kept.source);
  },
);

test.skipIf(!(await canMount()))(
  "a disk that is full when a task has succeeded does not cost its release",
  async () => {
    await using disk = await makeSmallDisk(1);
    const workspaces = openWorkspaces(options(disk.path));
    for (const taskId of [1, 2]) {
      const release = await workspaces.open(7, taskId, 1);
      mkdirSync(release.source);
      if (taskId === 2) disk.fill();
      await release.close({ state: "kept", keep: 2 });
    }
    expect(workspaces.kept(7).map(({ taskId }) => taskId)).toEqual([2, 1]);
    expect(await workspaces.reopen(7, 2, 1)).not.toBeNull();
  },
);
