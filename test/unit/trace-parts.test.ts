import { expect, test } from "bun:test";
import { RecentEntries } from "../../src/push/trace/recent-entries.ts";
import { isSimilarName } from "../../src/push/trace/similar-names.ts";

test("recent entries are bounded by count and bytes, and the oldest are dropped first", () => {
  const dropped: number[] = [];
  const recent = new RecentEntries<number>({
    maxEntries: 4,
    maxBytes: 100,
    bytesOf: (entry) => entry,
    onDropped: (entry) => dropped.push(entry),
  });
  expect([recent.size, recent.oldest]).toEqual([0, undefined]);
  for (const entry of [1, 2, 3, 4, 5]) recent.add(entry);
  expect([[...recent.newestFirst()], dropped, recent.oldest]).toEqual([[5, 4, 3, 2], [1], 2]);
  recent.add(93);
  expect([[...recent.newestFirst()], dropped]).toEqual([
    [93, 5],
    [1, 2, 3, 4],
  ]);
  // An entry that alone is over the limit is kept until the next one.
  recent.add(500);
  expect([...recent.newestFirst()]).toEqual([500]);
  recent.add(6);
  expect([...recent.newestFirst()]).toEqual([6]);
});

test.each([
  ["Anna", "anna", true],
  ["42", "042", true],
  ["42", " 42", true],
  ["anna-maria", "annamaria", true],
  ["margarete", "margarette", true],
  ["margarete", "amrgarete", true],
  ["margarete", "margarita", false],
  ["42", "43", false],
  ["10001", "10002", false],
  ["anna", "anna", false],
  ["bob", "rob", false],
  ["user-1", "user-2", false],
  ["user-1", "user-22222", false],
])("%p and %p are similar: %p", (one, other, isSimilar) => {
  expect(isSimilarName(one, other)).toBe(isSimilar);
  expect(isSimilarName(other, one)).toBe(isSimilar);
});
