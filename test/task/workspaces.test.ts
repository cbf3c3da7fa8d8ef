import { beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { treeOf } from "../../src/runner/process/process-tree.ts";
import { readState } from "../../src/runner/workspace/state.ts";
import { openWorkspaces, type WorkspacePolicy } from "../../src/runner/workspace/workspace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let root: string;
const used = new Set<string>();
beforeEach(() => {
  root = temporaryFolder("workspaces");
});

const hourMs = 3_600_000;

function open(clock = manualClock(), policy: WorkspacePolicy = "live") {
  const log = pino({ level: "silent" });
  return openWorkspaces({
    root,
    former: null,
    knownHosts: "",
    policy,
    isUsed: (folder) => used.has(folder),
    clock,
    log,
  });
}

test("a built workspace waits as long as the server says, also if the clock of its machine was set", async () => {
  const clock = manualClock();
  const workspaces = open(clock);
  const built = await workspaces.open(7, 1, 1);
  mkdirSync(built.source);
  built.seal(null);
  await built.close({ state: "waiting", until: clock.now() + hourMs });
  clock.advance(2 * hourMs);
  const next = await workspaces.open(7, 2, 1);
  await next.close({ state: "kept", keep: 1, waitingTasks: [1] });
  expect((await workspaces.reopen(7, 1, 1))?.source).toBe(built.source);

  // Its runner was off, and starts again.
  const recordFile = join(built.source, "../state.json");
  const record = JSON.parse(readFileSync(recordFile, "utf8"));
  writeFileSync(recordFile, JSON.stringify({ ...record, owner: { pid: 1, startedAt: "never" } }));
  clock.advance(29 * 24 * hourMs);
  expect(await open(clock).sweep(100)).toBe(0);
  expect((await open(clock).reopen(7, 1, 1))?.source).toBe(built.source);
  clock.advance(2 * 24 * hourMs);
  expect(await open(clock).sweep(100)).toBe(1);
  expect(await open(clock).reopen(7, 1, 1)).toBeNull();
});

test("a workspace stays while it is not known whether a service runs in it", async () => {
  const folder = join(root, "releases/7/1");
  // A folder in the place of the file cannot be read.
  mkdirSync(join(folder, "state.json"), { recursive: true });
  expect(await open().sweep(100)).toBe(0);
  expect(existsSync(folder)).toBe(true);
  rmSync(join(folder, "state.json"), { recursive: true });
  expect(await open().sweep(100)).toBe(1);
  expect(readdirSync(join(root, "releases/7"))).toEqual([]);
});

test.each(["live", "none"] as const)(
  "with `%s`, a workspace stays as long as a service runs in it",
  async (policy) => {
    const workspaces = open(manualClock(), policy);
    const served = await workspaces.open(7, 1, 1);
    mkdirSync(served.source);
    used.add(served.folder);
    await served.close({ state: "kept", keep: 1 });
    await (await workspaces.open(7, 2, 1)).close({ state: "kept", keep: 1 });
    expect(existsSync(served.source)).toBeTrue();
    used.delete(served.folder);
    await (await workspaces.open(7, 3, 1)).close({ state: "kept", keep: 1 });
    expect(existsSync(served.source)).toBe(false);
  },
);

/** The record of a workspace cannot be written, as on a full disk: a folder has the name of the file. */
function blockRecord({ source }: { source: string }): void {
  mkdirSync(join(dirname(source), "state.json.new"));
}

/** Task 1 was built and waits for its approval; meanwhile task 2 has become the live release. */
async function buildThenRelease() {
  const clock = manualClock();
  const workspaces = open(clock);
  const built = await workspaces.open(7, 1, 1);
  mkdirSync(built.source);
  built.seal(null);
  await built.close({ state: "waiting", until: clock.now() + hourMs });
  clock.advance(hourMs / 2);
  const other = await workspaces.open(7, 2, 1);
  await other.close({ state: "kept", keep: 1, waitingTasks: [1] });
  return { workspaces, built };
}

test("an approved release that goes live on a full disk stays, also if others went live before", async () => {
  const { workspaces, built } = await buildThenRelease();
  const approved = await workspaces.reopen(7, 1, 1);
  blockRecord(built);
  await approved?.close({ state: "kept", keep: 1 });
  expect(workspaces.kept(7).map(({ taskId }) => taskId)).toEqual([1]);
});

test("a rollback that ends on a full disk leaves no process in the record that the next start would end", async () => {
  const workspaces = open();
  const kept = await workspaces.open(7, 1, 1);
  mkdirSync(kept.source);
  await kept.close({ state: "kept", keep: 1 });
  const rollback = await workspaces.reopen(7, 1, 1);
  const service = treeOf(999_999_999);
  rollback?.noteTree(service);
  blockRecord(kept);
  rollback?.forgetTree(service);
  await rollback?.close({ state: "kept", keep: 1 });
  expect(readState(dirname(kept.source))).toMatchObject({ state: "kept", trees: [] });
});
