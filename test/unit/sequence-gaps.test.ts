import { expect, test } from "bun:test";
import { SequenceGaps } from "../../src/push/publish/sequence-gaps.ts";

function watch(limits: { maxMissing?: number } = {}) {
  const gaps: number[] = [];
  const watched = new SequenceGaps({
    lateMs: 5_000,
    maxPublishers: 2,
    maxMissing: 100,
    onLoss: (count) => gaps.push(count),
    ...limits,
  });
  const hear = (tag: string, nowMs: number, ...numbers: number[]) => {
    for (const seq of numbers) watched.observe({ id: `${tag}-x`, seq }, nowMs);
  };
  return { watched, gaps, hear };
}

test("a number that never arrives is counted once it is late", () => {
  const { watched, gaps, hear } = watch();
  hear("a", 0, 7, 8, 11);
  watched.tick(4_999);
  expect(gaps).toEqual([]);
  watched.tick(5_000);
  expect(gaps).toEqual([2]);
  watched.tick(60_000);
  expect(gaps).toEqual([2]);
});

test("numbers out of order are not a gap", () => {
  const { watched, gaps, hear } = watch();
  hear("a", 0, 1, 4, 2, 3, 5, 3);
  watched.tick(60_000);
  expect(gaps).toEqual([]);
});

test("each process of a publisher has its own sequence, and messages without a number are ignored", () => {
  const { watched, gaps, hear } = watch();
  hear("first-life", 0, 500);
  hear("second-life", 0, 1, 2);
  hear("", 0, 0);
  watched.tick(60_000);
  expect(gaps).toEqual([]);
});

test("the part of a gap beyond the limit is counted at once", () => {
  const { watched, gaps, hear } = watch({ maxMissing: 10 });
  hear("a", 0, 1, 1_002);
  expect(gaps).toEqual([990]);
  watched.tick(5_000);
  expect(gaps).toEqual([990, 10]);
});

test("there is a gap from a skipped number until it arrives or is late", () => {
  const { watched, hear } = watch();
  hear("a", 0, 1, 2);
  expect(watched.hasGaps).toBe(false);
  hear("a", 0, 5);
  expect(watched.hasGaps).toBe(true);
  hear("a", 0, 3, 4);
  expect(watched.hasGaps).toBe(false);
  hear("a", 0, 7);
  watched.tick(5_000);
  expect(watched.hasGaps).toBe(false);
});

test("missing numbers of a forgotten publisher are counted", () => {
  const { gaps, hear } = watch();
  hear("a", 0, 1, 4);
  hear("b", 0, 1);
  hear("c", 0, 1);
  expect(gaps).toEqual([2]);
});
