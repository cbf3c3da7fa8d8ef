import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "../../src/clock.ts";
import { Idempotency, idempotencyDefaults } from "../../src/push/publish/idempotency.ts";
import { KeyFile } from "../../src/push/publish/key-file.ts";

const folder = mkdtempSync(join(tmpdir(), "slipway-keys-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const minuteMs = 60_000;
let files = 0;

/** Consecutive processes with one key file; each drops old keys once a second, as a gateway does. */
function processesOn() {
  const file = join(folder, `keys-${++files}.jsonl`);
  const clock = manualClock(Date.parse("2026-01-31T09:00:00Z"));
  const system = { boot: "one", stepMs: 0 };
  const machine = {
    get boot() {
      return system.boot;
    },
    elapsed: () => clock.elapsed(),
  };
  const wall = { now: () => clock.now() + system.stepMs, elapsed: () => clock.elapsed() };
  const faults: string[] = [];
  const begin = () => {
    const keyFile = new KeyFile({
      file,
      clock: wall,
      steady: clock,
      machine,
      onFault: (reason) => void faults.push(reason),
    });
    const keys = new Idempotency(idempotencyDefaults, keyFile);
    for (const [key, record] of keyFile.load(idempotencyDefaults.windowMs))
      keys.recall(key, record, clock.now());
    keys.dropOld(clock.now());
    return {
      publish(key: string) {
        const isFirst = keys.remember(key, `id of ${key}`, 1n, clock.now());
        if (isFirst) keys.published(key, 1, clock.now());
        return isFirst;
      },
      pass(ms: number) {
        for (let passedMs = 0; passedMs < ms; passedMs += 1_000) {
          clock.advance(1_000);
          keys.dropOld(clock.now());
        }
      },
      end: () => keyFile.close(),
    };
  };
  return { file, faults, system, begin, stored: () => readFileSync(file, "utf8") };
}

test("a key is known for five minutes across any number of restarts", () => {
  const { begin } = processesOn();
  for (let start = 0; start < 4; start++) {
    const gateway = begin();
    expect(gateway.publish("order-7")).toBe(start === 0);
    gateway.publish(`another of start ${start}`);
    gateway.pass(minuteMs);
    gateway.end();
  }
  const late = begin();
  late.pass(2 * minuteMs);
  expect(late.publish("order-7")).toBe(true);
  late.end();
});

test("an old key is not kept on disk, however often the process starts", () => {
  const { begin, stored } = processesOn();
  for (let start = 0; start < 20; start++) {
    const gateway = begin();
    gateway.publish(`key of start ${start}`);
    gateway.pass(4 * minuteMs);
    gateway.end();
  }
  begin().end();
  expect(stored().trim().split("\n").length).toBeLessThanOrEqual(2);
});

test("a key that could not be written is written within a second, also without a next one", () => {
  const { file, faults, begin } = processesOn();
  const gateway = begin();
  // A folder has the name of the file, so the file cannot be opened.
  mkdirSync(file);
  expect(gateway.publish("order-7")).toBe(true);
  expect(faults).toHaveLength(1);
  expect(gateway.publish("order-8")).toBe(true);
  rmSync(file, { recursive: true });
  gateway.pass(1_000);
  gateway.end();
  const next = begin();
  expect([next.publish("order-7"), next.publish("order-8")]).toEqual([false, false]);
  expect(faults).toHaveLength(1);
  next.end();
});

test("a key that was used while the system time was wrong is valid for five minutes across a restart", () => {
  for (const wrongMs of [-60 * minuteMs, 60 * minuteMs]) {
    const { system, begin } = processesOn();
    system.stepMs = wrongMs;
    const gateway = begin();
    gateway.publish("order-7");
    gateway.pass(minuteMs);
    gateway.end();
    system.stepMs = 0;
    const next = begin();
    expect(next.publish("order-7")).toBe(false);
    next.pass(5 * minuteMs);
    expect(next.publish("order-7")).toBe(true);
    next.end();
  }
});

test("after a restart of the machine the system clock gives the age of a key", () => {
  const { system, begin } = processesOn();
  const gateway = begin();
  gateway.publish("order-7");
  gateway.pass(2 * minuteMs);
  gateway.end();
  system.boot = "another";
  const next = begin();
  expect(next.publish("order-7")).toBe(false);
  next.pass(4 * minuteMs);
  expect(next.publish("order-7")).toBe(true);
  next.end();
});
