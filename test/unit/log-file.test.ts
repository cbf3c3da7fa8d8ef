import { expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { LogFile } from "../../src/bus/log-file.ts";
import { manualClock } from "../../src/clock.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder("log-file");

let files = 0;

/** A file that one process after the other opens. */
function newFile({ windowMs = 60_000, maxBytes = 10_000 } = {}) {
  const clock = manualClock();
  const file = join(folder, `log-${++files}`);
  const faults: string[] = [];
  const cuts: number[] = [];
  const machine = { boot: "first boot", elapsed: () => clock.elapsed() };
  const open = (boot = machine.boot) =>
    new LogFile({
      ...{ file, windowMs, maxBytes, clock, steady: clock, machine: { ...machine, boot } },
      onFault: (reason) => faults.push(reason),
      onCut: (cutMs) => cuts.push(cutMs),
    });
  const write = (to: LogFile, ...offsets: number[]) => {
    to.add(offsets[0] ?? 0, JSON.stringify(offsets.map((offset) => ({ id: String(offset) }))));
    to.write();
  };
  const offsetsOf = (from: LogFile) => from.load().map(({ offset }) => offset);
  return { file, clock, faults, cuts, open, write, offsetsOf };
}

test("the next process reads the records with their age, after a kill too, and only its user can read the file", () => {
  const { file, clock, open, write } = newFile();
  write(open(), 5, 6);
  clock.advance(1_000);
  expect(open().load()).toEqual([
    { offset: 5, ageMs: 1_000, value: { id: "5" } },
    { offset: 6, ageMs: 1_000, value: { id: "6" } },
  ]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a line that a kill cut is left out, and the next process writes after it", () => {
  const { file, open, write, offsetsOf } = newFile();
  write(open(), 5, 6);
  // The cut is after a nested array, so that the rest looks like a whole line.
  appendFileSync(file, '7 8 [{"id":"7","data":[]');
  const next = open();
  expect(offsetsOf(next)).toEqual([5, 6]);
  write(next, 7);
  expect(offsetsOf(open())).toEqual([5, 6, 7]);
});

test("after a crash of the machine the log begins anew, because its end may be missing; not after an end in order", () => {
  const crashed = newFile();
  crashed.write(crashed.open(), 5);
  expect(crashed.offsetsOf(crashed.open("second boot"))).toEqual([]);
  expect(crashed.offsetsOf(crashed.open("second boot"))).toEqual([]);
  const ended = newFile();
  const first = ended.open();
  ended.write(first, 5);
  first.close();
  expect(ended.offsetsOf(ended.open("second boot"))).toEqual([5]);
});

test("at least the window is kept, in at most two files", () => {
  const { file, clock, open, write, offsetsOf } = newFile({ windowMs: 1_000 });
  const log = open();
  for (let offset = 0; offset < 100; offset++) {
    write(log, offset);
    clock.advance(100);
  }
  const kept = offsetsOf(open());
  expect(kept.at(-1)).toBe(99);
  expect(kept.length).toBeGreaterThanOrEqual(9);
  expect(kept.length).toBeLessThanOrEqual(21);
  expect(readFileSync(file, "utf8").length).toBeLessThan(1_000);
});

test("a window that the size cuts is reported once", () => {
  const { clock, cuts, open, write } = newFile({ maxBytes: 200 });
  const log = open();
  for (let offset = 0; offset < 100; offset++) {
    write(log, offset);
    clock.advance(10);
  }
  expect(cuts.length).toBe(1);
  expect(cuts[0]).toBeLessThan(60_000);
});

test("records that could not be written are written later, also without a new one; a process that starts before that begins anew", async () => {
  const { file, clock, faults, open, write } = newFile();
  const log = open();
  const other = newFile();
  const killed = other.open();
  for (const [each, to] of [
    [file, log],
    [other.file, killed],
  ] as const) {
    write(to, 1);
    mkdirSync(`${each}.old`);
  }
  // The change of files fails.
  for (const each of [clock, other.clock]) each.advance(60_000);
  write(log, 2);
  other.write(killed, 2);
  expect([faults.length, other.faults.length]).toEqual([1, 1]);
  for (const each of [file, other.file]) rmSync(`${each}.old`, { recursive: true });
  expect(other.offsetsOf(other.open())).toEqual([]);
  write(log, 3);
  clock.advance(1_000);
  await eventually("both are written", () => !existsSync(`${file}.incomplete`));
  write(log, 4, 5);
  expect(open().load()).toEqual(
    [1_000, 1_000, 0, 0].map((ageMs, index) => ({
      offset: index + 2,
      ageMs,
      value: { id: String(index + 2) },
    })),
  );
});

test("a log that ends while records wait writes them; if they are too many, the file begins anew without them", () => {
  const { file, clock, open, write, offsetsOf } = newFile({ maxBytes: 200 });
  const log = open();
  const fail = (...offsets: number[]) => {
    mkdirSync(`${file}.old`);
    clock.advance(60_000);
    write(log, ...offsets);
    rmSync(`${file}.old`, { recursive: true });
  };
  write(log, 1);
  fail(2);
  log.close();
  expect(offsetsOf(open())).toEqual([2]);
  clock.advance(1_000);
  write(log, 3);
  fail(...Array.from({ length: 100 }, (_, index) => index + 4));
  clock.advance(1_000);
  write(log, 104);
  expect(offsetsOf(open())).toEqual([104]);
});

test("frequent restarts neither lose records nor let the file grow", () => {
  const { file, clock, open, write, offsetsOf } = newFile({ windowMs: 1_000 });
  for (let offset = 0; offset < 200; offset++) {
    const log = open();
    log.load();
    write(log, offset);
    clock.advance(100);
  }
  const kept = offsetsOf(open());
  expect(kept.at(-1)).toBe(199);
  expect(kept.length).toBeGreaterThanOrEqual(9);
  expect(kept.length).toBeLessThan(25);
  expect(statSync(file).size).toBeLessThan(2_000);
});

test("foreign text in the file is no record", () => {
  const { file, open, write, offsetsOf } = newFile();
  write(open(), 5);
  appendFileSync(file, 'x\n7 8 {}\n7 8 [x]\n{"boot":1}\n9 1 [{"id":"9"}]\n');
  expect(offsetsOf(open())).toEqual([5, 9]);
});
