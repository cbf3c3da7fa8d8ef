import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Scope } from "./scope.ts";

/** Smaller corrections are followed as they come: no window is so short that they matter. */
const minStepMs = 1_000;
const retryAfterMs = 1_000;

/**
 * What was recorded further ahead of now than this comes from before a clock was set back. Instances agree on the time
 * much better.
 */
export const clockSlackMs = 5_000;

/**
 * The time of the store: the system's. When somebody sets that, the time before goes on until everything that waits is
 * moved by the same amount, so that what had ten seconds to wait still has ten seconds to wait.
 */
export function buildStoreTime(
  clock: Clock,
  moveWaiting: (ms: number) => Promise<void>,
  log: Log,
): () => Date {
  let offsetMs = clock.now() - clock.elapsed();
  let isMoving = false;
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  async function follow(stepMs: number): Promise<void> {
    isMoving = true;
    try {
      await moveWaiting(stepMs);
      offsetMs += stepMs;
      log.warn({ stepMs: Math.round(stepMs) }, "the system's time was set; what waits was moved with it");
    } catch (error) {
      notBeforeMs = clock.elapsed() + retryAfterMs;
      log.error({ error: messageOf(error) }, "the system's time was set, but what waits could not be moved");
    }
    isMoving = false;
  }

  return () => {
    const elapsedMs = clock.elapsed();
    const stepMs = clock.now() - elapsedMs - offsetMs;
    if (Math.abs(stepMs) < minStepMs) offsetMs += isMoving ? 0 : stepMs;
    else if (!isMoving && elapsedMs >= notBeforeMs) void follow(stepMs);
    return new Date(Math.round(elapsedMs + offsetMs));
  };
}

/**
 * Moves all that waits for a time (tasks in their debounce window, the deliveries that opened these windows, outgoing
 * calls) and when runners were last seen. Leases and timeouts are watched by elapsed time and need no move.
 */
export async function moveWaiting({ db }: Scope, ms: number): Promise<void> {
  const moved = Math.round(ms);
  const inWindow = db.selectFrom("tasks").where("state", "=", "queued").where("not_before", "is not", null);
  await db
    .updateTable("deliveries")
    .set((eb) => ({ created_at: eb("created_at", "+", moved) }))
    .where("id", "in", inWindow.select("delivery_id").where("delivery_id", "is not", null))
    .execute();
  await db
    .updateTable("tasks")
    .set((eb) => ({ not_before: eb("not_before", "+", moved), created_at: eb("created_at", "+", moved) }))
    .where("id", "in", inWindow.select("id"))
    .execute();
  await db
    .updateTable("runners")
    .set((eb) => ({ last_seen_at: eb("last_seen_at", "+", moved) }))
    .execute();
  await db
    .updateTable("outgoing_calls")
    .set((eb) => ({ next_try_at: eb("next_try_at", "+", moved), created_at: eb("created_at", "+", moved) }))
    .execute();
}
