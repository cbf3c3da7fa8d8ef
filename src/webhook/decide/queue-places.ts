import type { QueuePlace } from "../../task/queue/queue.ts";

/** From this position on, a queue is long. */
const longPosition = 100;
/** The longer a queue, the less it matters whether a few have left it since it was counted. */
const keptMsPerPlace = 10;
const maxKeptMs = 10_000;
/**
 * A hundred times what PostgreSQL takes to count one place: long queues take a hundredth of all time, and with thousands of
 * them a place grows older instead.
 */
const pauseMsPerPlace = 3;
/** Projects beyond this are counted each time. */
const maxProjects = 10_000;

/**
 * Places of new tasks. A long queue costs more to count than a delivery to decide, so the place of a project that stands
 * far back is kept for some seconds; a task made in between stands one place behind the one before it.
 */
export function buildQueuePlaces(elapsedMs: () => number = () => performance.now()) {
  const lastOf = new Map<number, { position: number; goodUntilMs: number }>();
  let countAgainAtMs = 0;
  return {
    /** Whether the place of a new task has to be counted. */
    mustCount(projectId: number, now: Date): boolean {
      const last = lastOf.get(projectId);
      if (last === undefined) return true;
      const keptForMs = last.goodUntilMs - now.getTime();
      // A value above the maximum means that the clock was set back.
      const isGood = keptForMs > 0 && keptForMs <= maxKeptMs;
      return !isGood && elapsedMs() >= countAgainAtMs;
    },
    /** The place of a task that was made: as counted, or behind the one before it. */
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
