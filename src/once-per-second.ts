import type { Clock } from "./clock.ts";

/** Limits a repeated report to one per second, with the number of occurrences. */
export function oncePerSecond(clock: Clock, report: (count: number) => void): () => void {
  return oncePerPeriod(1000, clock, report);
}

/** Limits a repeated report to one per period, with the number of occurrences since the last one. */
export function oncePerPeriod(periodMs: number, clock: Clock, report: (count: number) => void): () => void {
  let count = 0;
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    count++;
    if (clock.now() - reportedAtMs < periodMs) return;
    report(count);
    count = 0;
    reportedAtMs = clock.now();
  };
}
