import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Scope } from "./scope.ts";

/** Smaller corrections are applied directly: no window is so short that they matter. */
const minStepMs = 1_000;
const retryAfterMs = 1_000;

/**
 * Times further in the future than this were recorded before a clock was set back. The clocks of instances differ much
 * less.
 */
export const clockSlackMs = 5_000;

/**
 * The store's clock follows the system clock. After a change of the system clock it continues with the old time until all
 * pending times are shifted by the same amount, so that remaining waits stay the same.
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
      log.warn(
        { stepMs: Math.round(stepMs) },
        "the system clock was changed; pending times were shifted by the same amount",
      );
    } catch (error) {
      notBeforeMs = clock.elapsed() + retryAfterMs;
      log.error(
        { error: messageOf(error) },
        "the system clock was changed, but pending times could not be shifted",
      );
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
 * Shifts all pending times (debounce windows of tasks, the deliveries that opened them, outgoing calls) and the times at
 * which runners were last seen. Leases and timeouts use elapsed time and need no shift.
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
