import type { Clock } from "../clock.ts";

export interface AttemptLimitOptions {
  /** Attempts that may fail within the window. */
  attempts: number;
  windowMs: number;
  /** Keys remembered at once; the one longest quiet is forgotten first. */
  maxKeys: number;
}

export interface AttemptLimit {
  /** Counts an attempt and answers 0, or the seconds to wait when there were too many. */
  take(key: string): number;
  /** The attempt was good: forget what the key did before. */
  forgive(key: string): void;
  size(): number;
}

/** How often something may go wrong per key, in fixed windows that start with the first attempt. */
export function buildAttemptLimit(options: AttemptLimitOptions, clock: Clock): AttemptLimit {
  const windows = new Map<string, { startedAt: number; count: number }>();
  return {
    take(key) {
      const now = clock.now();
      const known = windows.get(key);
      const window = known && now - known.startedAt < options.windowMs ? known : { startedAt: now, count: 0 };
      if (window.count >= options.attempts)
        return Math.max(1, Math.ceil((window.startedAt + options.windowMs - now) / 1000));
      window.count++;
      // Set anew, so that the map stays ordered by the last attempt and its first key is the one to forget.
      windows.delete(key);
      windows.set(key, window);
      const oldest = windows.size > options.maxKeys ? windows.keys().next().value : undefined;
      if (oldest !== undefined) windows.delete(oldest);
      return 0;
    },
    forgive(key) {
      windows.delete(key);
    },
    size: () => windows.size,
  };
}
