import { BoundedMap } from "../../bounded-map.ts";

/** When there are more, the entry that has been unchanged the longest is dropped. */
const maxTasks = 10_000;

/** Measures how long something has not changed, by elapsed time, so that clock changes do not matter. */
export function buildSilenceWatch(elapsedMs: () => number) {
  const seen = new BoundedMap<number, { sign: string; sinceMs: number }>(maxTasks);
  return {
    /** How long `sign` has been the same for this task, as far as this process has seen. */
    unchangedMs(taskId: number, sign: string): number {
      const nowMs = elapsedMs();
      const known = seen.get(taskId);
      if (known?.sign === sign) return nowMs - known.sinceMs;
      seen.set(taskId, { sign, sinceMs: nowMs });
      return 0;
    },
    /** Forgets all other tasks. */
    keepOnly(taskIds: readonly number[]): void {
      const kept = new Set(taskIds);
      for (const taskId of seen.keys()) if (!kept.has(taskId)) seen.delete(taskId);
    },
  };
}
