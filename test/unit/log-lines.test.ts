import { expect, test } from "bun:test";
import fc from "fast-check";
import { type LogLine, LogLines } from "../../console/log-lines.ts";

function line(index: number): LogLine {
  return { index, stage: "build", step: null, at: "2026-01-01T00:00:00.000Z", text: `line ${index}` };
}

function range(from: number, to: number): LogLine[] {
  return Array.from({ length: to - from }, (_, offset) => line(from + offset));
}

test("doubles are dropped and a gap is reported instead of shown", () => {
  const log = new LogLines((tell) => tell());
  expect(log.add(range(0, 3))).toBe(true);
  expect(log.add(range(1, 5))).toBe(true);
  expect(log.add(range(7, 9))).toBe(false);
  expect(log.next).toBe(5);
  expect(Array.from({ length: log.next }, (_, index) => log.textAt(index))).toEqual(
    range(0, 5).map(({ text }) => text),
  );
});

test("however parts of the log arrive, what is held starts at 0 and has no gap", () => {
  const part = fc.tuple(fc.nat(60), fc.nat(20)).map(([from, length]) => range(from, from + length));
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const log = new LogLines((tell) => tell());
      for (const each of parts) log.add(each);
      expect(Array.from({ length: log.next }, (_, index) => log.textAt(index))).toEqual(
        range(0, log.next).map(({ text }) => text),
      );
    }),
  );
});

test("listeners are called once per frame, and again only after a change", () => {
  const frames: (() => void)[] = [];
  const log = new LogLines((tell) => frames.push(tell));
  let told = 0;
  log.subscribe(() => told++);
  log.add(range(0, 1));
  log.add(range(1, 2));
  log.complete();
  expect(frames).toHaveLength(1);
  frames.shift()?.();
  expect(told).toBe(1);
  log.add(range(0, 2));
  log.complete();
  expect(frames).toHaveLength(0);
});
