import { expect, test } from "bun:test";
import fc from "fast-check";
import { headHeight, LogLayout, lineHeight } from "../../console/log-layout.ts";
import { LogLines } from "../../console/log-lines.ts";
import { probableCauseOf } from "../../console/probable-cause.ts";

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

test("the first line that names an error is found; without one, the last line is, and it is not called an error", () => {
  const log = logOf([
    ["checkout", "error: not of this stage"],
    ["build", "> build --fail-fast"],
    ["build", "0 errors, 2 warnings"],
    ["build", "\u001b[31merror\u001b[0m TS2304: Cannot find name 'x'."],
    ["build", "another error"],
    ["deploy", "copying"],
    ["deploy", ""],
  ]);
  expect(probableCauseOf(log, "build")).toEqual({ index: 3, namesError: true });
  expect(probableCauseOf(log, "deploy")).toEqual({ index: 5, namesError: false });
  expect(probableCauseOf(log, "start")).toBeNull();
});

test("what says why a test failed comes before which file it is in", () => {
  const log = logOf([
    ["build", "FAIL  src/cart.test.js (1.2 s)"],
    ["build", "  ● adds the price of two pears"],
    ["build", "    Error: expected 4, received 3"],
  ]);
  expect(probableCauseOf(log, "build")).toEqual({ index: 2, namesError: true });
  const alone = logOf([
    ["build", "FAIL  src/cart.test.js"],
    ["build", "1 of 3 files"],
  ]);
  expect(probableCauseOf(alone, "build")).toEqual({ index: 0, namesError: true });
});

test.each([
  "✓ answers an unknown page with not found",
  "  PASS  test/error.test.ts",
  "ok 3 - a failed payment is refused",
  "compiled src/error.ts",
  "copied dist/exception/index.js",
  "warning: the flag will be an error in version 4",
  "3 × 4 tiles",
  "without errors",
])("%s names no error", (text) => {
  const log = logOf([
    ["build", text],
    ["build", "done"],
  ]);
  expect(probableCauseOf(log, "build")).toEqual({ index: 1, namesError: false });
});

test.each([
  "npm ERR! missing script: build",
  "TypeError: undefined is not a function",
  "java.lang.IllegalStateException: closed",
  "make: *** [Makefile:2: all] Error 1",
  "sh: 1: vite: not found",
  "  ✕ a transfer keeps the sum",
  "src/cart.ts(3,1): error TS2304: Cannot find name 'x'.",
])("%s names an error", (text) => {
  const log = logOf([
    ["build", text],
    ["build", "done"],
  ]);
  expect(probableCauseOf(log, "build")).toEqual({ index: 0, namesError: true });
});

test("neither the output of a rollback nor a repetition is taken for the error of the failed stage", () => {
  const log = logOf([
    ["start", "starting"],
    ["start", "the page has no heading"],
    ["start", "the page has no heading"],
    ["system", "[start failed. Rolling back to task 1]"],
    ["start", "error: of the earlier release"],
  ]);
  expect(probableCauseOf(log, "start")).toEqual({ index: 1, namesError: false });
});

test("an error of a step that passed is not the error of the step that failed", () => {
  const log = new LogLines((tell) => tell());
  const at = "2026-01-01T00:00:00.000Z";
  const lines = [
    ["lint", "error: ignored"],
    ["test", "1 of 2 tests"],
  ] as const;
  log.add(lines.map(([step, text], index) => ({ index, stage: "build", step, at, text })));
  expect(probableCauseOf(log, "build/test")).toEqual({ index: 1, namesError: false });
});

test("what the runner says is never taken for the error", () => {
  const waiting: [string, string] = ["start", "[waiting for 127.0.0.1:3000]"];
  expect(probableCauseOf(logOf([["start", "listening"], waiting]), "start")?.index).toBe(0);
  const held = logOf([waiting, ["system", "port 3000 is still held by task 1"]]);
  expect(probableCauseOf(held, "start")).toBeNull();
});
