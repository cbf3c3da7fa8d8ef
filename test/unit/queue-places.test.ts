import { expect, test } from "bun:test";
import type { Keepers } from "../../src/model/store.ts";
import type { Task } from "../../src/model/task.ts";
import { buildQueuePlaces } from "../../src/webhook/decide/queue-places.ts";

/** A queue with this many tasks ahead; counts how often it is counted out. */
function queueWith(own: number) {
  const counted = { times: 0, own };
  const tasks = {
    ahead: async () => {
      counted.times++;
      return { own: counted.own, others: 0 };
    },
    countHeld: async () => 0,
  };
  const runners = { list: async () => ({ items: [], total: 0, page: 1, pageSize: 200 }) };
  return { counted, keepers: { tasks, runners } as unknown as Pick<Keepers, "tasks" | "runners"> };
}

const task = { id: 1, projectId: 7, state: "queued" } as Task;
const at = (ms: number) => new Date(1_000_000 + ms);

test("a short queue is counted out for every task", async () => {
  const { counted, keepers } = queueWith(5);
  const placeOf = buildQueuePlaces();
  for (const ms of [0, 1, 2])
    expect(await placeOf(keepers, task, at(ms))).toEqual({ queued: true, position: 6 });
  expect(counted.times).toBe(3);
});

test.each([
  [199, 2_000],
  [5_000, 10_000],
])(
  "with %p ahead the place is kept for %p ms, and each task in between stands one place further back",
  async (ahead, keptMs) => {
    const { counted, keepers } = queueWith(ahead);
    const placeOf = buildQueuePlaces(() => 0);
    const positions = [];
    for (const ms of [0, 1, 500, keptMs - 1]) positions.push((await placeOf(keepers, task, at(ms))).position);
    expect(positions).toEqual([1, 2, 3, 4].map((more) => ahead + more));
    expect(counted.times).toBe(1);
    counted.own = 10;
    expect(await placeOf(keepers, task, at(keptMs))).toEqual({ queued: true, position: 11 });
    expect(await placeOf(keepers, task, at(keptMs + 1))).toEqual({ queued: true, position: 11 });
    expect(counted.times).toBe(3);
  },
);

test("a long queue that takes 5 ms to count out is counted again after 500 ms at the earliest, of whichever project", async () => {
  let elapsedMs = 0;
  const { counted, keepers } = queueWith(199);
  const { ahead } = keepers.tasks;
  keepers.tasks.ahead = (inQueue, now) => {
    elapsedMs += 5;
    return ahead(inQueue, now);
  };
  const placeOf = buildQueuePlaces(() => elapsedMs);
  const [first, second] = [task, { ...task, projectId: 8 }];
  await placeOf(keepers, first, at(0));
  elapsedMs = 100;
  await placeOf(keepers, second, at(0));
  expect(counted.times).toBe(2);
  elapsedMs = 599;
  expect(await placeOf(keepers, first, at(60_000))).toEqual({ queued: true, position: 201 });
  expect(counted.times).toBe(2);
  elapsedMs = 600;
  expect(await placeOf(keepers, first, at(60_000))).toEqual({ queued: true, position: 200 });
  expect(counted.times).toBe(3);
});
