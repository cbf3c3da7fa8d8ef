import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";

/** Smaller corrections are applied directly: no window is so short that they matter. */
const minStepMs = 1_000;
const retryAfterMs = 1_000;

export interface StoreTime {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Elapsed time, which nobody sets, and what has to be added to it now. */
  elapsedMs(): number;
  offsetMs(): number;
  /** Follows the system clock, if that was set. */
  follow(): void;
}

/**
 * The store's time follows the system clock. When that is set, `shiftPendingTimes` is called at the same moment, so that
 * remaining waits stay the same; if it fails the old time goes on, and it is tried again.
 */
export function buildStoreTime(
  clock: Clock,
  shiftPendingTimes: (ms: number) => Promise<void>,
  log: Logger,
): StoreTime {
  let offsetMs = clock.now() - clock.elapsed();
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  async function step(stepMs: number): Promise<void> {
    offsetMs += stepMs;
    try {
      await shiftPendingTimes(stepMs);
      log.warn(
        { stepMs: Math.round(stepMs) },
        "the system clock was changed; pending times were shifted by the same amount",
      );
    } catch (error) {
      offsetMs -= stepMs;
      notBeforeMs = clock.elapsed() + retryAfterMs;
      log.error(
        { error: messageOf(error) },
        "the system clock was changed, but pending times could not be shifted",
      );
    }
  }

  return {
    nowMs: () => Math.round(clock.elapsed() + offsetMs),
    elapsedMs: clock.elapsed,
    offsetMs: () => offsetMs,
    follow() {
      const elapsedMs = clock.elapsed();
      const stepMs = clock.now() - elapsedMs - offsetMs;
      if (Math.abs(stepMs) < minStepMs) offsetMs += stepMs;
      else if (elapsedMs >= notBeforeMs) void step(stepMs);
    },
  };
}
