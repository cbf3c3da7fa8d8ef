import type { QueuePlace } from "../../task/queue/queue.ts";

/** From this position on, a queue is long. */
const longPosition = 100;
/** The longer a queue is, the less a few departures since the last count matter. */
const keptMsPerPlace = 10;
const maxKeptMs = 10_000;
/**
 * A hundred times what PostgreSQL needs to count one place: counting takes at most a hundredth of the time; with
 * thousands of long queues, a place becomes older instead.
 */
const pauseMsPerPlace = 3;
/** Projects beyond this are counted each time. */
const maxProjects = 10_000;

/**
 * Places of new tasks. Counting a long queue costs more than deciding a delivery, so the place of a project far back in
 * the queue is cached for some seconds; each new task of it counts as one place further back.
 */
export function buildQueuePlaces(elapsedMs: () => number = () => performance.now()) {
  const lastOf = new Map<number, { position: number; goodUntilMs: number }>();
  let countAgainAtMs = 0;
  return {
    /** Whether the place of a new task must be counted. */
    mustCount(projectId: number, now: Date): boolean {
      const last = lastOf.get(projectId);
      if (last === undefined) return true;
      const keptForMs = last.goodUntilMs - now.getTime();
      // A value above the maximum means that the clock was set back.
      const isGood = keptForMs > 0 && keptForMs <= maxKeptMs;
      if (isGood || elapsedMs() < countAgainAtMs) return false;
      // Deliveries that arrive before the answer do not count as well.
      countAgainAtMs = elapsedMs() + last.position * pauseMsPerPlace;
      return true;
    },
    /** The place of a new task: the counted one, or one place after the previous task. */
    placeOf(projectId: number, counted: QueuePlace | null, now: Date): QueuePlace {
      const last = lastOf.get(projectId);
      if (counted === null) return { queued: true, position: last ? ++last.position : 1 };
      const { queued, position } = counted;
      if (queued && position > longPosition && (last || lastOf.size < maxProjects)) {
        const goodUntilMs = now.getTime() + Math.min(position * keptMsPerPlace, maxKeptMs);
        lastOf.set(projectId, { position, goodUntilMs });
        countAgainAtMs = elapsedMs() + position * pauseMsPerPlace;
      } else lastOf.delete(projectId);
      return counted;
    },
  };
}
