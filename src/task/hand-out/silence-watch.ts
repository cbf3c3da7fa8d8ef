/** Measures how long something has not changed, by elapsed time, so that clock changes do not matter. */
export interface SilenceWatch {
  /** How long `sign` has been the same for this task, as far as this process has seen. */
  unchangedMs(taskId: number, sign: string): number;
  /** Forgets all other tasks. */
  keepOnly(taskIds: readonly number[]): void;
}

/** Beyond this limit the entry that has been unchanged the longest is dropped. */
const maxTasks = 10_000;

export function buildSilenceWatch(elapsedMs: () => number): SilenceWatch {
  const seen = new Map<number, { sign: string; sinceMs: number }>();
  return {
    unchangedMs(taskId, sign) {
      const nowMs = elapsedMs();
      const known = seen.get(taskId);
      if (known?.sign === sign) return nowMs - known.sinceMs;
      // Deleted and set again, so that the map stays ordered by the last change.
      seen.delete(taskId);
      seen.set(taskId, { sign, sinceMs: nowMs });
      if (seen.size > maxTasks) seen.delete(seen.keys().next().value ?? taskId);
      return 0;
    },
    keepOnly(taskIds) {
      const kept = new Set(taskIds);
      for (const taskId of seen.keys()) if (!kept.has(taskId)) seen.delete(taskId);
    },
  };
}
