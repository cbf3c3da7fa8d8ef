import { expect, test } from "bun:test";
import { placeAtTheEnd } from "../../src/task/queue/queue.ts";
import { buildQueuePlaces } from "../../src/webhook/decide/queue-places.ts";

const at = (ms: number) => new Date(1_000_000 + ms);
const counted = (own: number) => placeAtTheEnd({ own, others: 0, heldOwn: 0, held: 0, capacity: 1 });

/** The place of the next task of a project with this many tasks ahead; null: it was not counted. */
function next(places: ReturnType<typeof buildQueuePlaces>, own: number, ms: number, projectId = 7) {
  const isCounted = places.mustCount(projectId, at(ms));
  const place = places.placeOf(projectId, isCounted ? counted(own) : null, at(ms));
  return { isCounted, position: place.position };
}

test("a short queue is counted for every task", () => {
  const places = buildQueuePlaces();
  for (const ms of [0, 1, 2]) expect(next(places, 5, ms)).toEqual({ isCounted: true, position: 6 });
});

test.each([
  [199, 2_000],
  [5_000, 10_000],
])(
  "with %p ahead the place is kept for %p ms, and each task in between stands one place further back",
  (ahead, keptMs) => {
    let elapsedMs = 0;
    const places = buildQueuePlaces(() => elapsedMs);
    const seen = [0, 1, 500, keptMs - 1].map((ms) => next(places, ahead, ms));
    expect(seen.map(({ position }) => position)).toEqual([1, 2, 3, 4].map((more) => ahead + more));
    expect(seen.map(({ isCounted }) => isCounted)).toEqual([true, false, false, false]);
    elapsedMs = 20_000;
    expect(next(places, 10, keptMs)).toEqual({ isCounted: true, position: 11 });
    expect(next(places, 10, keptMs + 1)).toEqual({ isCounted: true, position: 11 });
  },
);

test("a long queue is counted again after a hundred times what that takes, of whichever project", () => {
  let elapsedMs = 0;
  const places = buildQueuePlaces(() => elapsedMs);
  expect(next(places, 199, 0).isCounted).toBe(true);
  elapsedMs = 10;
  expect(next(places, 199, 0, 8).isCounted).toBe(true);
  elapsedMs = 609;
  expect(next(places, 199, 60_000)).toEqual({ isCounted: false, position: 201 });
  elapsedMs = 611;
  expect(next(places, 199, 60_000)).toEqual({ isCounted: true, position: 200 });
});

test("a place that was kept before the clock was set back is counted again", () => {
  let elapsedMs = 0;
  const places = buildQueuePlaces(() => elapsedMs);
  next(places, 199, 0);
  elapsedMs = 1_000;
  expect(next(places, 199, -3_600_000).isCounted).toBe(true);
});

test("tasks of its own project delay a task, those of others only where they take the last places of runners", () => {
  const free = { own: 0, others: 0, heldOwn: 0, held: 0, capacity: 2 };
  expect(placeAtTheEnd(free)).toEqual({ queued: false, position: 1 });
  expect(placeAtTheEnd({ ...free, own: 1 })).toEqual({ queued: true, position: 2 });
  expect(placeAtTheEnd({ ...free, heldOwn: 1, held: 1 })).toEqual({ queued: true, position: 1 });
  expect(placeAtTheEnd({ ...free, others: 1 })).toEqual({ queued: false, position: 2 });
  expect(placeAtTheEnd({ ...free, others: 1, held: 1 })).toEqual({ queued: true, position: 2 });
  expect(placeAtTheEnd({ ...free, capacity: 0 })).toEqual({ queued: false, position: 1 });
});

test("of many that arrive before the first is counted, one counts a long queue", () => {
  let elapsedMs = 0;
  const places = buildQueuePlaces(() => elapsedMs);
  next(places, 199, 0);
  elapsedMs = 60_000;
  expect([1, 2, 3].map(() => places.mustCount(7, at(60_000)))).toEqual([true, false, false]);
});
