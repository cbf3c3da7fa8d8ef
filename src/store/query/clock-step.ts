import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { Scope } from "./scope.ts";

/** Smaller corrections are applied directly: no window is so short that they matter. */
const minStepMs = 1_000;
const retryAfterMs = 1_000;

/**
 * Times further in the future than this were recorded before a clock was set back. The clocks of instances differ much
 * less.
 */
export const clockSlackMs = 5_000;

export interface StoreTime {
  now(): Date;
  /**
   * Runs work that reads the time and writes rows with it. Pending times are shifted only while no such work runs: a row
   * with the old time that is written after the shift would not be shifted.
   */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * The store's clock follows the system clock. After a change of the system clock it continues with the old time until all
 * pending times are shifted by the same amount, so that remaining waits stay the same.
 */
export function buildStoreTime(
  clock: Clock,
  moveWaiting: (ms: number) => Promise<void>,
  log: Log,
): StoreTime {
  let offsetMs = clock.now() - clock.elapsed();
  let moving: Promise<void> | null = null;
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  let running = 0;
  let whenIdle: (() => void) | null = null;

  async function follow(stepMs: number): Promise<void> {
    try {
      if (running > 0) await new Promise<void>((resolve) => (whenIdle = resolve));
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
    moving = null;
  }

  function now(): Date {
    const elapsedMs = clock.elapsed();
    const stepMs = clock.now() - elapsedMs - offsetMs;
    if (Math.abs(stepMs) < minStepMs) offsetMs += moving ? 0 : stepMs;
    else if (!moving && elapsedMs >= notBeforeMs) moving = follow(stepMs);
    return new Date(Math.round(elapsedMs + offsetMs));
  }

  return {
    now,
    async during(work) {
      while (moving) await moving;
      running += 1;
      try {
        return await work();
      } finally {
        running -= 1;
        if (running === 0) {
          whenIdle?.();
          whenIdle = null;
        }
      }
    },
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
    .set((eb) => ({
      last_seen_at: eb("last_seen_at", "+", moved),
      gone_since: eb("gone_since", "+", moved),
    }))
    .execute();
  await db
    .updateTable("outgoing_calls")
    .set((eb) => ({ next_try_at: eb("next_try_at", "+", moved), created_at: eb("created_at", "+", moved) }))
    .execute();
}
