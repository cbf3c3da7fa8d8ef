import { expect, test } from "bun:test";
import fc from "fast-check";
import { firstErrorOf } from "../../console/first-error.ts";
import { headHeight, LogLayout, lineHeight } from "../../console/log-layout.ts";
import { LogLines } from "../../console/log-lines.ts";

function logOf(lines: [stage: string, text: string][]): LogLines {
  const log = new LogLines((tell) => tell());
  log.add(
    lines.map(([stage, text], index) => ({
      index,
      stage,
      step: null,
      text,
      at: new Date(index * 1000).toISOString(),
    })),
  );
  return log;
}

const none = () => false;

test("lines come back as they were written, whatever their characters", () => {
  const stage = fc.constantFrom("build", "deploy");
  fc.assert(
    fc.property(fc.array(fc.tuple(stage, fc.string({ unit: "grapheme" })), { maxLength: 1200 }), (lines) => {
      const log = logOf(lines);
      expect(log.next).toBe(lines.length);
      for (const [index, [, text]] of lines.entries()) {
        expect(log.textAt(index)).toBe(text.toWellFormed());
        expect(log.timeAt(index)).toBe(index * 1000);
      }
      expect(log.segments.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(lines.length);
    }),
    { numRuns: 30 },
  );
});

test("each stage has a head; a collapsed one has no lines", () => {
  const log = logOf([
    ["build", "one"],
    ["build", "two"],
    ["deploy", "three"],
  ]);
  const open = new LogLayout(log, none, null);
  expect(open.height).toBe(2 * headHeight + 3 * lineHeight);
  expect(open.topOf(2)).toBe(2 * headHeight + 2 * lineHeight);
  const rows = open.rowsIn(0, 1000).map((row) => (row.kind === "head" ? row.segment.stage : row.index));
  expect(rows).toEqual(["build", 0, 1, "deploy", 2]);
  const closed = new LogLayout(log, ({ stage }) => stage === "build", null);
  expect(closed.topOf(0)).toBeNull();
  expect(closed.rowsIn(0, 1000).map((row) => (row.kind === "head" ? row.segment.stage : row.index))).toEqual([
    "build",
    "deploy",
    2,
  ]);
});

test("wherever one scrolls, the rows in sight are those of the whole log, wrapped or not", () => {
  const texts = fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.string({ maxLength: 60 })), {
    maxLength: 80,
  });
  fc.assert(
    fc.property(
      texts,
      fc.constantFrom(null, 7, 20),
      fc.nat(3000),
      fc.nat(400),
      (lines, columns, from, size) => {
        const layout = new LogLayout(logOf(lines), none, columns);
        const all = layout.rowsIn(0, layout.height);
        const wanted = all.filter(({ top }) => top >= from && top <= from + size);
        const shown = layout.rowsIn(from, from + size);
        for (const row of wanted) expect(shown).toContainEqual(row);
        expect(shown.length).toBeLessThanOrEqual(wanted.length + 3);
      },
    ),
    { numRuns: 60 },
  );
});

test("long and wide lines take more rows when they are wrapped", () => {
  const log = logOf([
    ["build", "x".repeat(25)],
    ["build", "中".repeat(10)],
    ["build", "\u001b[31mred\u001b[0m"],
    ["build", ""],
  ]);
  const heights = new LogLayout(log, none, 10)
    .rowsIn(0, 1000)
    .flatMap((row) => (row.kind === "line" ? row.height : []));
  expect(heights.map((height) => height / lineHeight)).toEqual([3, 2, 1, 1]);
});

test("the first error of a stage is found; without one, its last line", () => {
  const log = logOf([
    ["checkout", "error: not of this stage"],
    ["build", "> build --fail-fast"],
    ["build", "0 errors, 2 warnings"],
    ["build", "\u001b[31merror\u001b[0m TS2304: Cannot find name 'x'."],
    ["build", "another error"],
    ["deploy", "copying"],
    ["deploy", ""],
  ]);
  expect(firstErrorOf(log, "build")).toBe(3);
  expect(firstErrorOf(log, "deploy")).toBe(5);
  expect(firstErrorOf(log, "start")).toBeNull();
});

test("neither the output of a rollback nor a repetition is taken for the error of the failed stage", () => {
  const log = logOf([
    ["start", "starting"],
    ["start", "the page has no heading"],
    ["start", "the page has no heading"],
    ["system", "[start failed. Rolling back to task 1]"],
    ["start", "<h1>Hello</h1>"],
  ]);
  expect(firstErrorOf(log, "start")).toBe(1);
});

test("what the runner says is never taken for the error", () => {
  const waiting: [string, string] = ["start", "[waiting for 127.0.0.1:3000]"];
  expect(firstErrorOf(logOf([["start", "listening"], waiting]), "start")).toBe(0);
  expect(firstErrorOf(logOf([waiting, ["system", "port 3000 is still held by task 1"]]), "start")).toBeNull();
});
