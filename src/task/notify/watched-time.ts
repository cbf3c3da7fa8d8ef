import { seenWithinMs } from "../../model/runner.ts";

/** A longer break means that this server was suspended or lost its database, so that no runner could call. */
const maxBreakMs = seenWithinMs / 3;

/** Measures for how long runners could call this server, by elapsed time, so that clock changes do not matter. */
export function buildWatchedTime(elapsedMs: () => number) {
  let sinceMs = elapsedMs();
  let lookedAtMs = sinceMs;
  const isBroken = () => elapsedMs() - lookedAtMs > maxBreakMs;
  return {
    /** The database has answered. Called periodically and not by runners: the last runner may call rarely. */
    looked(): void {
      const isAfterBreak = isBroken();
      lookedAtMs = elapsedMs();
      if (isAfterBreak) sinceMs = lookedAtMs;
    },
    /** The time since the start or the last break; 0 during a break. */
    ms: (): number => (isBroken() ? 0 : elapsedMs() - sinceMs),
  };
}
export type WatchedTime = ReturnType<typeof buildWatchedTime>;
