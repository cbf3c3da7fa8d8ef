import type { DeliveryKeeper, NormalizedEvent, RateBucket } from "../../model/delivery.ts";
import { SlidingWindow, wholeSeconds } from "../../rate-limit.ts";
import type { Outcome } from "./outcome.ts";
import type { Rules } from "./rules.ts";
import type { Trace } from "./trace.ts";

const windowMs = 60_000;

/**
 * The bucket of a delivery: `listed` when the project listens to its event. Everything else has a second bucket of the
 * same size, so that pushed tags, comments or deletions cannot use up the limit of pushes.
 */
export function bucketOf(event: NormalizedEvent | null, { events }: Pick<Rules, "events">): RateBucket {
  if (event === null) return "unlisted";
  const isListed = [event, ...(event.otherRefs ?? [])].some(
    (change) => change.skip === null && change.event !== null && events.includes(change.event),
  );
  return isListed ? "listed" : "unlisted";
}

/** This instance's count of deliveries per project. */
export type ProjectRates = Record<RateBucket, SlidingWindow<number>>;

export function buildProjectRates(limitPerMinute: number): ProjectRates {
  return { listed: new SlidingWindow(limitPerMinute), unlisted: new SlidingWindow(limitPerMinute) };
}

const kindOf: Record<RateBucket, string> = {
  listed: "",
  unlisted: " of events that it does not listen to",
};

export function rateLimited(
  limitPerMinute: number,
  bucket: RateBucket,
  waitMs: number,
  trace: Trace,
): Outcome {
  const reason = `The project had ${limitPerMinute} deliveries${kindOf[bucket]} in the last minute, which is its limit.`;
  trace.add("rate", "stop", "", `${limitPerMinute} a minute`, reason);
  return { code: "rate_limited", reason, retryAfterSeconds: wholeSeconds(waitMs) };
}

export function withinRate(limitPerMinute: number, bucket: RateBucket, trace: Trace): void {
  const detail = `The project is within its rate${kindOf[bucket]}.`;
  trace.add("rate", "pass", "", `${limitPerMinute} a minute`, detail);
}

/**
 * The limit over all instances, from the records themselves. Asked inside the project's lock, so that two instances
 * cannot both see the last free place. Each instance alone has counted before, in memory, at no cost.
 */
export async function overSharedRate(
  deliveries: Pick<DeliveryKeeper, "countedSince">,
  delivery: { projectId: number; bucket: RateBucket; trace: Trace },
  limitPerMinute: number,
  now: Date,
): Promise<Outcome | null> {
  const { projectId, bucket, trace } = delivery;
  const since = new Date(now.getTime() - windowMs);
  const { count, oldest } = await deliveries.countedSince(projectId, { since, now }, limitPerMinute, bucket);
  if (count < limitPerMinute || oldest === null) return null;
  return rateLimited(limitPerMinute, bucket, oldest.getTime() + windowMs - now.getTime(), trace);
}
