import { BoundedMap } from "../bounded-map.ts";
import type { Clock } from "../clock.ts";
import type { FailedAttemptKeeper } from "../model/failed-attempt.ts";
import { wholeSeconds } from "../rate-limit.ts";
import { hashToken } from "../secrets.ts";

export interface AttemptLimitOptions {
  /** Kind of the keys. Limits with different names count separately. */
  name: string;
  /** Attempts that may fail within the window. */
  attempts: number;
  windowMs: number;
  /** Keys in memory; the key whose last attempt is the oldest is forgotten first. */
  maxKeys: number;
}

/**
 * How often something may go wrong per key, in fixed windows that start with the first attempt. Each instance counts in
 * memory, at no cost; what passes there is counted in `shared` too, where other instances let attempts through.
 */
export function buildAttemptLimit(
  options: AttemptLimitOptions,
  clock: Clock,
  shared: FailedAttemptKeeper | null,
) {
  const { attempts, windowMs, maxKeys } = options;
  const windows = new BoundedMap<string, { endsAtMs: number; count: number }>(maxKeys);
  const sharedKey = (key: string) => hashToken(`${options.name} ${key}`);

  function takeHere(key: string): number {
    const now = clock.elapsed();
    const known = windows.get(key);
    const window = known && now < known.endsAtMs ? known : { endsAtMs: now + windowMs, count: 0 };
    if (window.count >= attempts) return wholeSeconds(window.endsAtMs - now);
    window.count++;
    windows.set(key, window);
    return 0;
  }

  return {
    /** Counts an attempt. Returns 0, or the seconds to wait after too many. */
    async take(key: string): Promise<number> {
      const waitSeconds = takeHere(key);
      if (waitSeconds > 0 || shared === null) return waitSeconds;
      const now = clock.now();
      const { count, endsAt } = await shared.count(sharedKey(key), new Date(now), windowMs);
      return count > attempts ? wholeSeconds(endsAt.getTime() - now) : 0;
    },
    /** The attempt succeeded: removes it from the count. */
    async giveBack(key: string): Promise<void> {
      const window = windows.get(key);
      if (window && window.count > 0) window.count--;
      await shared?.giveBack(sharedKey(key));
    },
    /** The attempt succeeded and proves that the key is trusted: resets the count. */
    async forgive(key: string): Promise<void> {
      windows.delete(key);
      await shared?.forget(sharedKey(key));
    },
    size: () => windows.size,
  };
}
