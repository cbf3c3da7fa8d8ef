import { BoundedMap } from "../../bounded-map.ts";

/** Measures how long something has not changed, by elapsed time, so that clock changes do not matter. */
export interface SilenceWatch {
  /** How long `sign` has been the same for this task, as far as this process has seen. */
  unchangedMs(taskId: number, sign: string): number;
  /** Forgets all other tasks. */
  keepOnly(taskIds: readonly number[]): void;
}

/** When there are more, the entry that has been unchanged the longest is dropped. */
const maxTasks = 10_000;

export function buildSilenceWatch(elapsedMs: () => number): SilenceWatch {
  const seen = new BoundedMap<number, { sign: string; sinceMs: number }>(maxTasks);
  return {
    unchangedMs(taskId, sign) {
      const nowMs = elapsedMs();
      const known = seen.get(taskId);
      if (known?.sign === sign) return nowMs - known.sinceMs;
      seen.set(taskId, { sign, sinceMs: nowMs });
      return 0;
    },
    keepOnly(taskIds) {
      const kept = new Set(taskIds);
      for (const taskId of seen.keys()) if (!kept.has(taskId)) seen.delete(taskId);
    },
  };
}
