import { refChangeOf } from "../../git-host/delivery/normalized.ts";
import type { NormalizedEvent, RefChange } from "../../model/delivery.ts";
import type { MatchWork } from "../../model/glob.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { Rules } from "../hook/compiled-rules.ts";
import { type FilteredDelivery, type Trace, traceOn } from "./delivery.ts";
import type { DeliveryKind } from "./delivery-kind.ts";
import { matchEvent, stopIfSkipped } from "./event.ts";
import type { Outcome } from "./outcome.ts";
import { matchPaths } from "./path.ts";
import { environmentFor, matchEnvironment, matchRef, refuseFork, refuseUnusable } from "./ref.ts";
import { matchKeyword } from "./skip.ts";

/** Work limit of all patterns of one decision. Ref patterns have a separate limit, which path patterns cannot use up. */
export interface FilterWork {
  refs: MatchWork;
  paths: MatchWork;
}

/** About a tenth of a second, a thousand times the work of a usual delivery. */
export const maxFilterSteps = 10_000_000;

export function newFilterWork(): FilterWork {
  return { refs: { left: maxFilterSteps }, paths: { left: maxFilterSteps } };
}

/** The steps used so far. */
export function stepsOf({ refs, paths }: FilterWork): number {
  return 2 * maxFilterSteps - refs.left - paths.left;
}

/** The result of the filters, for the event of the chosen ref. */
export type Filtered = Pick<FilteredDelivery, "stoppedBy" | "aside" | "filterTrace" | "environment"> & {
  event: NormalizedEvent;
};

/**
 * Filter steps 1 to 4, after the checks that no rule can change. Null: passed. Steps 5 and 6 look at tasks
 * (debounce.ts, queue-policy.ts).
 */
function filter(
  event: NormalizedEvent,
  rules: Rules,
  kind: DeliveryKind,
  trace: Trace,
  work: FilterWork,
): Outcome | null {
  return (
    stopIfSkipped(event, trace) ??
    (kind.eventList ? matchEvent(event, rules, trace) : null) ??
    refuseUnusable(event, trace) ??
    (kind.otherFilters
      ? (refuseFork(event, rules, trace) ?? matchRef(event, rules, trace, work.refs))
      : null) ??
    matchEnvironment(event, rules, trace, work.refs) ??
    (kind.otherFilters
      ? (matchPaths(event, rules, trace, work.paths) ?? matchKeyword(event, rules, trace))
      : null)
  );
}

/** More names would hide the steps that follow. */
const maxTraced = 20;

/**
 * Applies the filters. A delivery makes one record and at most one task, but a push may name several refs: the first ref
 * that passes is chosen; if none passes, the first, whose reason becomes the delivery's. The chosen ref is moved to the
 * front, so that a replay builds the same one.
 */
export function applyFilters(
  event: NormalizedEvent,
  rules: Rules,
  kind: DeliveryKind,
  work: FilterWork = newFilterWork(),
): Filtered {
  const candidates = [event, ...(event.otherRefs ?? []).map((change) => ({ ...event, ...change }))];
  const judged = candidates.map((candidate) => {
    const trace = traceOn([]);
    return { candidate, stoppedBy: filter(candidate, rules, kind, trace, work), steps: trace.steps };
  });
  const passing = judged.findIndex(({ stoppedBy }) => stoppedBy === null);
  const chosen = judged[Math.max(passing, 0)];
  const stoppedBy = chosen?.stoppedBy ?? null;
  const environment = environmentFor(chosen?.candidate ?? event, rules, work.refs);
  if (event.otherRefs === undefined)
    return { event, stoppedBy, environment, aside: "", filterTrace: chosen?.steps ?? [] };
  const others = judged.filter((each) => each !== chosen);
  const trace = traceOn([]);
  for (const { candidate, stoppedBy } of others.slice(0, maxTraced)) {
    const why = stoppedBy?.reason ?? newReason("one_ref_only");
    trace.add("other ref", "skipped", candidate.rawRef, "", newReason("not_built", { why }));
  }
  const otherRefs = others.map(({ candidate }) => refChangeOf(candidate));
  return {
    event: { ...event, ...chosen?.candidate, otherRefs },
    stoppedBy,
    environment,
    aside: asideOf(otherRefs, passing >= 0, work.refs.left < 0),
    filterTrace: [...trace.steps, ...(chosen?.steps ?? [])],
  };
}

/** More names would hide the rest of the reason. */
const maxNamed = 5;

function asideOf(others: readonly RefChange[], isBuilt: boolean, isTooComplex: boolean): Reason {
  const more = others.length > maxNamed ? ` and ${others.length - maxNamed} more` : "";
  const named = others
    .slice(0, maxNamed)
    .map(({ ref, refType }) => (refType === "tag" ? `tag ${ref}` : ref))
    .join(", ");
  if (isTooComplex) return newReason("aside_too_complex", { refs: named + more });
  return newReason(isBuilt ? "aside_others" : "aside_none", { refs: named + more });
}
