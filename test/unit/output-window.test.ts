import { expect, test } from "bun:test";
import {
  hasEarlier,
  OutputLog,
  type OutputMark,
  type OutputPart,
  windowAtEnd,
  withEarlier,
  withLater,
} from "../../console/output-window.ts";

const at = "2026-01-01T00:00:00.000Z";
const mark = (position: number, kind: OutputMark["kind"] = "start"): OutputMark => ({
  ...{ position, kind, at, taskId: 1 },
});
/** Lines of ten bytes each, from one line to another. */
function part(from: number, to: number, more: Partial<OutputPart> = {}): OutputPart {
  const lines = Array.from({ length: to - from }, (_, index) => ({
    position: (from + index) * 10,
    text: `line ${from + index}`,
  }));
  return { lines, next: from * 10, from: 0, to: to * 10, marks: [], ...more };
}
const numbers = ({ lines }: Pick<OutputPart, "lines">) => lines.map(({ position }) => position / 10);

test("the last line is read again, and shown once; a mark between two parts, too", () => {
  const end = windowAtEnd(part(5, 8, { marks: [mark(70)] }), "");
  expect(end).toMatchObject({ before: 50, after: 70, first: 0 });
  const later = withLater(end, part(7, 10, { next: 100, marks: [mark(70), mark(90)] }));
  expect(numbers(later)).toEqual([5, 6, 7, 8, 9]);
  expect(later.marks.map(({ position }) => position)).toEqual([70, 90]);
  expect(later).toMatchObject({ before: 50, after: 100 });
});

test("output without a whole line is read from its beginning, and a search without a match from its end", () => {
  const empty = { ...part(0, 0), from: 20, to: 33, next: 33 };
  expect(windowAtEnd(empty, "").after).toBe(20);
  expect(windowAtEnd(empty, "x").after).toBe(33);
});

test("more lines than the page holds push out those at the other end, which can be read again", () => {
  const known = windowAtEnd(part(1000, 6000, { marks: [mark(10_000)] }), "");
  const later = withLater(known, part(5999, 6100, { next: 61_000 }));
  expect(later.lines.length).toBe(5000);
  expect(later).toMatchObject({ before: 11_000, after: 61_000, marks: [] });
  const earlier = withEarlier(known, part(500, 1000));
  expect(earlier.lines.length).toBe(5000);
  expect(earlier).toMatchObject({ before: 5000, after: 55_000 });
  expect(hasEarlier(earlier)).toBe(true);
  expect(hasEarlier(withEarlier(known, part(0, 1000)))).toBe(false);
});

test("each mark begins a segment; of a search only those with a line that was found", () => {
  const marks = [mark(20, "release"), mark(20), mark(40), mark(100)];
  const window = windowAtEnd(part(0, 5, { marks }), "");
  const shown = new OutputLog(window, false);
  expect(shown.segments.map(({ from, to }) => [from, to])).toEqual([
    [0, 2],
    [2, 2],
    [2, 4],
    [4, 5],
    [5, 5],
  ]);
  expect(shown.segments.map((segment) => shown.markOf(segment)?.kind)).toEqual([
    undefined,
    "release",
    "start",
    "start",
    "start",
  ]);
  const found = new OutputLog(window, true);
  expect(found.segments.map(({ from, to }) => [from, to])).toEqual([
    [0, 2],
    [2, 4],
    [4, 5],
  ]);
  expect(found.next).toBe(5);
});
