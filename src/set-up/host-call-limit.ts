import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import { SlidingWindow, wholeSeconds } from "../rate-limit.ts";
import { newReason } from "../reason/reason.ts";

const perMinute = 120;
/** A host may keep each of them waiting. Fewer than the inspections that run at the same time, so that others get a turn. */
const atOnce = 3;

/** Limits how often, and how many at the same time, a user lets this server call Git hosts. */
export function buildHostCallLimit(clock: Clock) {
  const window = new SlidingWindow<number>(perMinute);
  const running = new Map<number, number>();

  return async <T>(userId: number, work: () => Promise<T>): Promise<T> => {
    const before = running.get(userId) ?? 0;
    const waitMs = before >= atOnce ? 1000 : window.take(userId, clock.elapsed());
    if (waitMs !== null) throw tooMany(wholeSeconds(waitMs));
    running.set(userId, before + 1);
    try {
      return await work();
    } finally {
      const left = (running.get(userId) ?? 1) - 1;
      if (left === 0) running.delete(userId);
      else running.set(userId, left);
    }
  };
}
export type HostCallLimit = ReturnType<typeof buildHostCallLimit>;

function tooMany(seconds: number): Fault {
  return new Fault("too_many", newReason("host_calls", { atOnce, perMinute, seconds }), {
    retryAfterSeconds: seconds,
  });
}
