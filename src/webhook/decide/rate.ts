import type { NormalizedEvent, RateBucket, RecentWork } from "../../model/delivery.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import { SlidingWindow, wholeSeconds } from "../../rate-limit.ts";
import { newReason } from "../../reason/reason.ts";
import type { Trace } from "./delivery.ts";
import type { Outcome } from "./outcome.ts";

const windowMs = 60_000;

/**
 * The bucket of a delivery: `listed` if its event is in the project's list. All other events share a second bucket of
 * the same size, so that tags, comments or deletions cannot use up the limit of pushes.
 */
export function bucketOf(
  event: NormalizedEvent | null,
  { events }: Pick<WebhookConfig, "events">,
): RateBucket {
  if (event === null) return "unlisted";
  const isListed = [event, ...(event.otherRefs ?? [])].some(
    (change) => change.skip === null && change.event !== null && events.includes(change.event),
  );
  return isListed ? "listed" : "unlisted";
}

/** This instance's count of deliveries per project. */
export function buildProjectRates(limitPerMinute: number): Record<RateBucket, SlidingWindow<number>> {
  return { listed: new SlidingWindow(limitPerMinute), unlisted: new SlidingWindow(limitPerMinute) };
}

export function rateLimited(
  limitPerMinute: number,
  bucket: RateBucket,
  waitMs: number,
  trace: Trace,
): Outcome {
  const reason = newReason(bucket === "listed" ? "rate_limited" : "rate_limited_unlisted", {
    limit: limitPerMinute,
  });
  trace.add("rate", "stop", "", `${limitPerMinute} a minute`, reason);
  return { code: "rate_limited", reason, retryAfterSeconds: wholeSeconds(waitMs) };
}

export function withinRate(limitPerMinute: number, bucket: RateBucket, trace: Trace): void {
  const detail = newReason(bucket === "listed" ? "within_rate" : "within_rate_unlisted");
  trace.add("rate", "pass", "", `${limitPerMinute} a minute`, detail);
}

/** A higher limit is counted by each instance alone: to count so many records would take longer than the decision. */
export const maxSharedLimit = 10_000;

export function countedSince(now: Date): Date {
  return new Date(now.getTime() - windowMs);
}

/**
 * The limit over all instances. It is counted from the records with the project's lock held, so that two instances cannot
 * both take the last free place. Each instance has counted in memory before.
 */
export function overSharedLimit(
  { count, oldest }: RecentWork["counted"],
  bucket: RateBucket,
  perMinute: number,
  trace: Trace,
  now: Date,
): Outcome | null {
  if (count < perMinute || oldest === null) return null;
  return rateLimited(perMinute, bucket, oldest.getTime() + windowMs - now.getTime(), trace);
}
