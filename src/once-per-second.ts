import type { Clock } from "./clock.ts";

/** A flood of the same complaint becomes one line a second that says how many there were. */
export function oncePerSecond(clock: Clock, report: (count: number) => void): () => void {
  let count = 0;
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    count++;
    if (clock.now() - reportedAtMs < 1000) return;
    report(count);
    count = 0;
    reportedAtMs = clock.now();
  };
}
