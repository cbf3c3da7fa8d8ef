import { seenWithinMs } from "../../model/runner.ts";

/** A longer break means that this server was suspended or lost its database, so that no runner could call. */
const maxBreakMs = seenWithinMs / 3;

/** Measures for how long runners could call this server, by elapsed time, so that clock changes do not matter. */
export function buildWatchedTime(elapsedMs: () => number) {
  let sinceMs = elapsedMs();
  let lookedAtMs = sinceMs;
  return {
    /** Called when the database has answered. Returns the time since the start or the last break. */
    lookedMs(): number {
      const nowMs = elapsedMs();
      if (nowMs - lookedAtMs > maxBreakMs) sinceMs = nowMs;
      lookedAtMs = nowMs;
      return nowMs - sinceMs;
    },
  };
}
