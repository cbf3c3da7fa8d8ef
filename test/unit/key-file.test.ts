import { afterEach, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "../../src/clock.ts";
import { fingerprintOf, Idempotency } from "../../src/push/publish/idempotency.ts";
import { KeyFile } from "../../src/push/publish/key-file.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const windowMs = 300_000;
const print = fingerprintOf("user", "anna", "x");

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "slipway-keys-"));
  folders.push(folder);
  return join(folder, "not yet there", "keys.jsonl");
}

/** One process of an instance with the same file. */
function live(file: string, clock = manualClock(1_000_000_000), faults: string[] = []) {
  const journal = new KeyFile({
    file,
    clock,
    steady: clock,
    machine: null,
    onFault: (reason) => faults.push(reason),
  });
  const keys = new Idempotency({ windowMs, isShared: false, maxKeys: 1000 }, journal);
  for (const [key, record] of journal.load(windowMs)) keys.recall(key, record, clock.now());
  const publish = (key: string, id: string, receivers = 1) => {
    const isFirst = keys.remember(key, id, print, clock.now());
    if (isFirst) keys.published(key, receivers, clock.now());
    return isFirst;
  };
  return { keys, journal, clock, publish };
}

test("the next process knows keys, ids and counts for the rest of the five minutes", () => {
  const file = newFile();
  const first = live(file);
  expect(first.publish("a", "id-a", 7)).toBe(true);
  first.clock.advance(200_000);
  first.journal.close();
  const second = live(file, first.clock);
  expect(second.keys.find("a", second.clock.now())).toMatchObject({
    id: "id-a",
    fingerprint: print,
    receivers: 7,
  });
  expect(second.publish("a", "id-b")).toBe(false);
  second.clock.advance(100_000);
  expect(second.publish("a", "id-c")).toBe(true);
  expect(statSync(file).mode & 0o077).toBe(0);
});

test("a line that a crash truncated does not affect others", () => {
  const file = newFile();
  const first = live(file);
  first.publish("a", "id-a");
  first.journal.close();
  appendFileSync(file, '{"key":"cut","id":"id-');
  const second = live(file, first.clock);
  second.publish("b", "id-b");
  second.journal.close();
  const third = live(file, first.clock);
  expect(["a", "b"].map((key) => third.keys.find(key, third.clock.now())?.id)).toEqual(["id-a", "id-b"]);
  expect(third.keys.size).toBe(2);
});

test("expired keys are deleted from the disk, and valid ones stay", () => {
  const file = newFile();
  const { keys, clock, publish, journal } = live(file);
  publish("old", "id-old");
  for (let at = 0; at < 4; at++) {
    clock.advance(windowMs / 2);
    keys.dropOld(clock.now());
    publish(`k${at}`, `id-${at}`);
  }
  journal.close();
  const next = live(file, clock);
  expect([...next.journal.load(windowMs)].map(([key]) => key)).not.toContain("old");
  expect(next.keys.find("k3", clock.now())?.id).toBe("id-3");
  expect(next.keys.find("k2", clock.now())?.id).toBe("id-2");
  expect(existsSync(file)).toBe(true);
});

test("a clock that was set back keeps keys, and a file that cannot be written refuses no publish", () => {
  const file = newFile();
  live(file, manualClock(2_000_000_000)).publish("a", "id-a");
  const back = live(file, manualClock(1_000_000_000));
  expect(back.publish("a", "again")).toBe(false);
  const folder = mkdtempSync(join(tmpdir(), "slipway-keys-"));
  folders.push(folder);
  writeFileSync(join(folder, "file"), "");
  const faults: string[] = [];
  const broken = live(join(folder, "file", "keys.jsonl"), manualClock(), faults);
  expect(broken.publish("a", "id-a")).toBe(true);
  expect(broken.publish("a", "id-b")).toBe(false);
  expect(faults).toHaveLength(1);
});

test("a full disk costs no descriptors and one attempt a second, and all keys are written when it has space", () => {
  const folder = mkdtempSync(join(tmpdir(), "slipway-keys-"));
  folders.push(folder);
  const file = join(folder, "keys.jsonl");
  const faults: string[] = [];
  const { keys, journal, clock, publish } = live(file, manualClock(), faults);
  symlinkSync("/dev/full", file);
  const descriptors = () => readdirSync("/proc/self/fd").length;
  const before = descriptors();
  for (let second = 0; second < 20; second++) {
    for (let at = 0; at < 10; at++) publish(`k-${second}-${at}`, `id-${second}-${at}`);
    clock.advance(1_000);
    keys.dropOld(clock.now());
  }
  expect(descriptors()).toBe(before);
  expect(faults).toHaveLength(1 + 20);
  expect(faults[0]).toContain("ENOSPC");
  rmSync(file);
  clock.advance(1_000);
  keys.dropOld(clock.now());
  journal.close();
  expect(live(file, clock).keys.size).toBe(200);
});
