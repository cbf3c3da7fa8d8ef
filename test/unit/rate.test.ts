import { expect, test } from "bun:test";
import { buildSharedCounts, dueLimit } from "../../src/webhook/decide/rate.ts";

const at = new Date("2026-01-01T00:00:00Z");
const later = (ms: number) => new Date(at.getTime() + ms);

test("the limit over all instances is counted when a delivery has its lock, however free it was when it arrived", () => {
  const counts = buildSharedCounts(1_000);
  expect(dueLimit(counts.limitOf(1, "listed"), at)).not.toBeNull();
  counts.counted(1, { bucket: "listed", count: 0, at });
  const limit = counts.limitOf(1, "listed");
  expect(dueLimit(limit, later(99))).toBeNull();
  expect(dueLimit(limit, later(101))).toEqual(limit);
  expect(dueLimit(counts.limitOf(1, "unlisted"), later(50))).not.toBeNull();
  expect(dueLimit(counts.limitOf(2, "listed"), later(50))).not.toBeNull();
});

test("after a clock was set back, the limit is counted", () => {
  const counts = buildSharedCounts(100_000_000);
  counts.counted(1, { bucket: "listed", count: 0, at });
  const limit = counts.limitOf(1, "listed");
  expect(dueLimit(limit, later(1))).toBeNull();
  expect(dueLimit(limit, later(-60_000))).toEqual(limit);
});
