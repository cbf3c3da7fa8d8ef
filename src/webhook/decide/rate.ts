import type { NormalizedEvent, ProjectState, ProjectStateQuery, RateBucket } from "../../model/delivery.ts";
import { SlidingWindow, wholeSeconds } from "../../rate-limit.ts";
import { reasonText } from "../../reason/reason.ts";
import type { Outcome } from "./outcome.ts";
import type { Rules } from "./rules.ts";
import type { Trace } from "./trace.ts";

const windowMs = 60_000;

/**
 * The bucket of a delivery: `listed` if its event is in the project's list. All other events share a second bucket of
 * the same size, so that tags, comments or deletions cannot use up the limit of pushes.
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

export function rateLimited(
  limitPerMinute: number,
  bucket: RateBucket,
  waitMs: number,
  trace: Trace,
): Outcome {
  const reason = reasonText(bucket === "listed" ? "rate_limited" : "rate_limited_unlisted", {
    limit: limitPerMinute,
  });
  trace.add("rate", "stop", "", `${limitPerMinute} a minute`, reason);
  return { code: "rate_limited", reason, retryAfterSeconds: wholeSeconds(waitMs) };
}

export function withinRate(limitPerMinute: number, bucket: RateBucket, trace: Trace): void {
  const detail = reasonText(bucket === "listed" ? "within_rate" : "within_rate_unlisted");
  trace.add("rate", "pass", "", `${limitPerMinute} a minute`, detail);
}

/** The query for the limit over all instances. */
export function countedRequest(
  bucket: RateBucket,
  limitPerMinute: number,
  now: Date,
): ProjectStateQuery["counted"] {
  return { bucket, since: new Date(now.getTime() - windowMs), limit: limitPerMinute };
}

/**
 * The limit over all instances, counted from the records with the project's lock held, so that two instances cannot
 * both take the last free place. Each instance has counted in memory before.
 */
export function overSharedRate(
  { count, oldest }: ProjectState["counted"],
  limit: SharedLimit,
  trace: Trace,
  now: Date,
): Outcome | null {
  if (count < limit.perMinute || oldest === null) return null;
  return rateLimited(limit.perMinute, limit.bucket, oldest.getTime() + windowMs - now.getTime(), trace);
}

/** No project receives more deliveries than this, over all instances. */
const mostPerMs = 10;
const longestPauseMs = 10_000;
const maxProjects = 10_000;

/** The limit over all instances. */
export interface SharedLimit {
  bucket: RateBucket;
  perMinute: number;
  /** Until then the limit cannot be reached, so nothing is counted; null: unknown. */
  freeUntil: Date | null;
}

/**
 * The limit, if it must be counted now. A delivery may wait for its lock while others are accepted, so this is decided
 * with the lock held. A time further ahead than any pause was computed before a clock was set back.
 */
export function dueLimit(limit: SharedLimit | null, now: Date): SharedLimit | null {
  const freeMs = (limit?.freeUntil?.getTime() ?? 0) - now.getTime();
  return freeMs > 0 && freeMs <= longestPauseMs ? null : limit;
}

/** Remembers until when the limit of each project cannot be reached. */
export function buildSharedCounts(limitPerMinute: number) {
  const freeUntil = new Map<string, Date>();
  return {
    limitOf: (projectId: number, bucket: RateBucket): SharedLimit => ({
      bucket,
      perMinute: limitPerMinute,
      freeUntil: freeUntil.get(`${projectId} ${bucket}`) ?? null,
    }),
    counted(projectId: number, { bucket, count, at }: { bucket: RateBucket; count: number; at: Date }): void {
      if (freeUntil.size >= maxProjects) freeUntil.clear();
      const pauseMs = Math.min((limitPerMinute - count) / mostPerMs, longestPauseMs);
      freeUntil.set(`${projectId} ${bucket}`, new Date(at.getTime() + pauseMs));
    },
  };
}
