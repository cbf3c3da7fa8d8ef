import { expect, test } from "bun:test";
import { buildQueuePositions, placeAtTheEnd } from "../../src/webhook/decide/queue-position.ts";

test.each([
  { ahead: 5, keptMs: 0 },
  { ahead: 199, keptMs: 2_000 },
  { ahead: 5_000, keptMs: 10_000 },
])(
  "with $ahead ahead a place is kept for $keptMs ms; tasks in between are each one place further back",
  ({ ahead, keptMs }) => {
    let elapsedMs = 1;
    const places = buildQueuePositions(() => elapsedMs);
    const next = (own: number) => {
      const isCounted = places.mustCount(7);
      const counted = placeAtTheEnd({ own, others: 0, heldOwn: 0, held: 0, capacity: 1 });
      return { isCounted, position: places.placeOf(7, isCounted ? counted : null).position };
    };
    expect(next(ahead)).toEqual({ isCounted: true, position: ahead + 1 });
    elapsedMs += keptMs - 1;
    if (keptMs > 0) expect(next(ahead)).toEqual({ isCounted: false, position: ahead + 2 });
    elapsedMs += 1;
    for (let each = 0; each < 2; each++) expect(next(10)).toEqual({ isCounted: true, position: 11 });
  },
);

test("tasks of its own project delay a task, those of others only where they take the last places of runners", () => {
  const free = { own: 0, others: 0, heldOwn: 0, held: 0, capacity: 2 };
  expect(placeAtTheEnd(free)).toEqual({ queued: false, position: 1 });
  expect(placeAtTheEnd({ ...free, own: 1 })).toEqual({ queued: true, position: 2 });
  expect(placeAtTheEnd({ ...free, heldOwn: 1, held: 1 })).toEqual({ queued: true, position: 1 });
  expect(placeAtTheEnd({ ...free, others: 1 })).toEqual({ queued: false, position: 2 });
  expect(placeAtTheEnd({ ...free, others: 1, held: 1 })).toEqual({ queued: true, position: 2 });
  expect(placeAtTheEnd({ ...free, capacity: 0 })).toEqual({ queued: false, position: 1 });
});
