import type { DeliveryKeeper } from "../model/delivery.ts";
import { secondsUntil } from "./limits.ts";
import type { Outcome } from "./outcome.ts";
import type { Trace } from "./trace.ts";

const windowMs = 60_000;

export function rateLimited(limitPerMinute: number, waitMs: number, trace: Trace): Outcome {
  const reason = `The project had ${limitPerMinute} deliveries in the last minute, which is its limit.`;
  trace.add("rate", "stop", "", `${limitPerMinute} a minute`, reason);
  return { code: "rate_limited", reason, retryAfterSeconds: secondsUntil(waitMs) };
}

/**
 * The limit over all instances, from the records themselves. Asked inside the project's lock, so that two instances
 * cannot both see the last free place. Each instance alone has counted before, in memory, at no cost.
 */
export async function overSharedRate(
  deliveries: DeliveryKeeper,
  projectId: number,
  limitPerMinute: number,
  now: Date,
  trace: Trace,
): Promise<Outcome | null> {
  const since = new Date(now.getTime() - windowMs);
  const { count, oldest } = await deliveries.countedSince(projectId, since, limitPerMinute);
  if (count < limitPerMinute || oldest === null) return null;
  return rateLimited(limitPerMinute, oldest.getTime() + windowMs - now.getTime(), trace);
}
