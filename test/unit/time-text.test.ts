import { expect, test } from "bun:test";
import { hoursOf } from "../../console/components/outcome-bars.tsx";
import { durationText, relativeText, shortRef, sizeText } from "../../console/time-text.ts";

const now = Date.parse("2026-03-01T12:00:00Z");
const ago = (seconds: number) => relativeText(new Date(now - seconds * 1000).toISOString(), now);

test("times are written as people write them", () => {
  expect([3, 42, 120, 7300, 90_000, 400_000, -20].map(ago)).toEqual([
    "just now",
    "42 s ago",
    "2 min ago",
    "2 h ago",
    "yesterday",
    "4 days ago",
    "in 20 s",
  ]);
});

test("durations and sizes have one unit, or two that matter", () => {
  expect([420, 12_400, 60_000, 200_000, 7_500_000].map(durationText)).toEqual([
    "0.4 s",
    "12 s",
    "1 min",
    "3 min 20 s",
    "2 h 5 min",
  ]);
  expect([900, 2048, 5 * 1024 ** 2].map(sizeText)).toEqual(["900 B", "2.0 KiB", "5.0 MiB"]);
});

test("a ref is shown by its short name", () => {
  expect(["refs/heads/release/2", "refs/tags/v1", "main"].map(shortRef)).toEqual(["release/2", "v1", "main"]);
});

test("deliveries of a day fall into 24 hours, none lost at the edges", () => {
  const at = (hoursAgo: number) => new Date(now - hoursAgo * 3_600_000).toISOString();
  const hours = hoursOf(
    [
      { at: at(0), status: "accepted", count: 2 },
      { at: at(0.5), status: "ignored", count: 1 },
      { at: at(23.9), status: "failed", count: 1 },
      { at: at(24.1), status: "failed", count: 1 },
    ],
    now,
  );
  expect(hours).toHaveLength(24);
  expect(hours.at(-1)?.total).toBe(3);
  expect(hours[0]?.total).toBe(2);
});
