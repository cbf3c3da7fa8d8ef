import type { Keepers } from "../model/store.ts";
import type { NewTask } from "../model/task.ts";
import { placeAtTheEnd, type QueuePlace } from "../task/queue.ts";

export type PlaceOf = (
  keepers: Pick<Keepers, "tasks" | "runners">,
  task: NewTask,
  now: Date,
) => Promise<QueuePlace>;

/** From this position on, a queue is long. */
const longPosition = 100;
const countAgainAfterMs = 1_000;
/** Projects beyond this are counted out each time. */
const maxProjects = 10_000;

/**
 * Places of new tasks. A long queue costs more to count out than a delivery to decide, so a project that stands far back
 * is counted once a second; a task made in between stands one place behind the one before it.
 */
export function buildQueuePlaces(): PlaceOf {
  const lastOf = new Map<number, { position: number; countedAtMs: number }>();
  return async (keepers, task, now) => {
    const last = lastOf.get(task.projectId);
    if (last && now.getTime() - last.countedAtMs < countAgainAfterMs)
      return { queued: true, position: ++last.position };
    const place = await placeAtTheEnd(keepers, task, now);
    if (place.queued && place.position > longPosition && lastOf.size < maxProjects)
      lastOf.set(task.projectId, { position: place.position, countedAtMs: now.getTime() });
    else lastOf.delete(task.projectId);
    return place;
  };
}
