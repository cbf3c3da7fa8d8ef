import type { Keepers } from "../../model/store.ts";
import type { NewTask } from "../../model/task.ts";
import { placeAtTheEnd, type QueuePlace } from "../../task/queue/queue.ts";

export type PlaceOf = (
  keepers: Pick<Keepers, "tasks" | "runners">,
  task: NewTask,
  now: Date,
) => Promise<QueuePlace>;

/** From this position on, a queue is long. */
const longPosition = 100;
/** The longer a queue, the less it matters whether a few have left it since it was counted out. */
const keptMsPerPlace = 10;
const maxKeptMs = 10_000;
/** To count out long queues may take this part of all time: with thousands of them a place grows older instead. */
const shareOfTime = 1 / 100;
/** Projects beyond this are counted out each time. */
const maxProjects = 10_000;

/**
 * Places of new tasks. A long queue costs more to count out than a delivery to decide, so the place of a project that
 * stands far back is kept for some seconds; a task made in between stands one place behind the one before it.
 */
export function buildQueuePlaces(elapsedMs: () => number = () => performance.now()): PlaceOf {
  const lastOf = new Map<number, { position: number; goodUntilMs: number }>();
  let countAgainAtMs = 0;
  return async (keepers, task, now) => {
    const last = lastOf.get(task.projectId);
    const startedAtMs = elapsedMs();
    const keptForMs = last ? last.goodUntilMs - now.getTime() : 0;
    // A value above the maximum means that the clock was set back.
    const isGood = keptForMs > 0 && keptForMs <= maxKeptMs;
    if (last && (isGood || startedAtMs < countAgainAtMs)) return { queued: true, position: ++last.position };
    const place = await placeAtTheEnd(keepers, task, now);
    const { queued, position } = place;
    const goodUntilMs = now.getTime() + Math.min(position * keptMsPerPlace, maxKeptMs);
    if (queued && position > longPosition && lastOf.size < maxProjects) {
      lastOf.set(task.projectId, { position, goodUntilMs });
      countAgainAtMs = startedAtMs + (elapsedMs() - startedAtMs) / shareOfTime;
    } else lastOf.delete(task.projectId);
    return place;
  };
}
