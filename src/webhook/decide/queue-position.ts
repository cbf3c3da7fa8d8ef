import { BoundedMap } from "../../bounded-map.ts";
import type { QueueState } from "../../model/delivery.ts";

/** A task's place in the queue, for people. */
export interface QueuePlace {
  /** Another task or a busy runner delays it; the debounce window alone does not count. */
  queued: boolean;
  /** Unfinished tasks that must start before it, plus one. */
  position: number;
}

/**
 * Tasks of its own project always delay a task; tasks of other projects only if they occupy the runners' last places.
 */
export function placeAtTheEnd({ own, others, heldOwn, held, capacity }: QueueState): QueuePlace {
  const position = own + others + 1;
  if (own > 0 || heldOwn > 0) return { queued: true, position };
  const before = held + others;
  return { queued: before > 0 && before >= capacity, position };
}

/** From this position on, a queue is long. */
const longPosition = 100;
/** The longer a queue is, the less a few departures since the last count matter. */
const keptMsPerPlace = 10;
const maxKeptMs = 10_000;
/** A hundred times what PostgreSQL needs to count one place, so that all counting takes at most a hundredth of the time. */
const pauseMsPerPlace = 3;
const maxProjects = 10_000;

/**
 * The places of new tasks in the queue. The place of a project far back is counted only every few seconds; in between, each
 * new task is one place further back.
 */
export function buildQueuePositions(elapsedMs: () => number = () => performance.now()) {
  const lastOf = new BoundedMap<number, { position: number; goodUntilMs: number }>(maxProjects);
  let countAgainAtMs = 0;
  return {
    /** Whether the place of a new task must be counted. */
    mustCount(projectId: number): boolean {
      const last = lastOf.get(projectId);
      const now = elapsedMs();
      if (last && (now < last.goodUntilMs || now < countAgainAtMs)) return false;
      // Deliveries that arrive before the answer do not count as well.
      if (last) countAgainAtMs = now + last.position * pauseMsPerPlace;
      return true;
    },
    /** The place of a new task: the counted one, or one place after the previous task. */
    placeOf(projectId: number, counted: QueuePlace | null): QueuePlace {
      const last = lastOf.get(projectId);
      if (counted === null) return { queued: true, position: last ? ++last.position : 1 };
      const { queued, position } = counted;
      if (queued && position > longPosition) {
        const goodUntilMs = elapsedMs() + Math.min(position * keptMsPerPlace, maxKeptMs);
        lastOf.set(projectId, { position, goodUntilMs });
      } else lastOf.delete(projectId);
      return counted;
    },
  };
}
