import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { readRecord } from "../../src/runner/workspace/run-record.ts";
import { openWorkspaces } from "../../src/runner/workspace/workspace.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "slipway-workspaces-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const hourMs = 3_600_000;

function open(clock = manualClock()) {
  const log = pino({ level: "silent" });
  return openWorkspaces({ root, former: null, knownHosts: "", policy: "live", clock, log });
}

test("a built workspace waits as long as the server says, also if the clock of its machine was set", async () => {
  const clock = manualClock();
  const workspaces = open(clock);
  const built = await workspaces.open(7, 1, 1);
  mkdirSync(built.source);
  await built.close({ isKept: false, keep: 1, builtUntil: clock.now() + hourMs });
  clock.advance(2 * hourMs);
  const next = await workspaces.open(7, 2, 1);
  await next.close({ isKept: true, keep: 1, waitingTasks: [1] });
  expect(workspaces.reopen(7, 1, 1)?.source).toBe(built.source);

  // Its runner was off, and starts again.
  const recordFile = join(built.source, "../run.json");
  const record = JSON.parse(readFileSync(recordFile, "utf8"));
  writeFileSync(recordFile, JSON.stringify({ ...record, owner: { pid: 1, startedAt: "never" } }));
  clock.advance(29 * 24 * hourMs);
  expect(await open(clock).sweep(100)).toBe(0);
  expect(open(clock).reopen(7, 1, 1)?.source).toBe(built.source);
  clock.advance(2 * 24 * hourMs);
  expect(await open(clock).sweep(100)).toBe(1);
  expect(open(clock).reopen(7, 1, 1)).toBeNull();
});

test("a workspace stays while it is not known whether a service runs in it", async () => {
  const folder = join(root, "work/project-7/task-1-1");
  // Without the record of a living runner. A folder in the place of the file cannot be read.
  mkdirSync(folder, { recursive: true });
  mkdirSync(join(root, "work/project-7/services.json"));
  expect(await open().sweep(100)).toBe(0);
  expect(existsSync(folder)).toBe(true);
  rmSync(join(root, "work/project-7/services.json"), { recursive: true });
  expect(await open().sweep(100)).toBe(1);
  expect(readdirSync(join(root, "work/project-7"))).toEqual([]);
});

/** The record of a workspace cannot be written, as on a full disk: a folder has the name of the file. */
function blockRecord({ source }: { source: string }): void {
  mkdirSync(join(dirname(source), "run.json.new"));
}

/** Task 1 was built and waits for its approval; meanwhile task 2 has become the live release. */
async function buildThenRelease() {
  const clock = manualClock();
  const workspaces = open(clock);
  const built = await workspaces.open(7, 1, 1);
  mkdirSync(built.source);
  await built.close({ isKept: false, keep: 1, builtUntil: clock.now() + hourMs });
  clock.advance(hourMs / 2);
  const other = await workspaces.open(7, 2, 1);
  await other.close({ isKept: true, keep: 1, waitingTasks: [1] });
  return { workspaces, built };
}

test("an approved release that goes live on a full disk stays, also if others went live before", async () => {
  const { workspaces, built } = await buildThenRelease();
  const approved = workspaces.reopen(7, 1, 1);
  blockRecord(built);
  await approved?.close({ isKept: true, keep: 1 });
  expect(workspaces.kept(7).map(({ taskId }) => taskId)).toEqual([1]);
});

test("an approved release also stays if the disk was full before its deploy began", async () => {
  const { workspaces, built } = await buildThenRelease();
  blockRecord(built);
  mkdirSync(join(dirname(built.source), "kept.json.new"));
  await workspaces.reopen(7, 1, 1)?.close({ isKept: true, keep: 1 });
  expect(workspaces.kept(7).map(({ taskId }) => taskId)).toContain(1);
});

test("a rollback that ends on a full disk leaves no process in the record that the next start would end", async () => {
  const workspaces = open();
  const kept = await workspaces.open(7, 1, 1);
  mkdirSync(kept.source);
  await kept.close({ isKept: true, keep: 1 });
  const rollback = workspaces.reopen(7, 1, 1);
  const service = { mark: "a-service", leader: 999_999_999 };
  rollback?.noteTree(service);
  blockRecord(kept);
  rollback?.forgetTree(service);
  await rollback?.close({ isKept: true, keep: 1 });
  expect(readRecord(dirname(kept.source))).toMatchObject({ isKept: true, trees: [] });
});
