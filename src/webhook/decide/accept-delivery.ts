import { Fault } from "../../errors.ts";
import type {
  NormalizedEvent,
  ProjectState,
  ProjectStateQuery,
  RateBucket,
  TraceStep,
} from "../../model/delivery.ts";
import type { Project } from "../../model/project.ts";
import { type Keepers, operation } from "../../model/store.ts";
import { reasonText } from "../../reason/reason.ts";
import { priorityOf } from "../../task/queue/queue.ts";
import { type Decision, type HookRules, sourceOf, startOf, startTask } from "./create-task.ts";
import { debounce } from "./debounce.ts";
import type { DeliveryKind } from "./delivery-kind.ts";
import { joinSameChange, mergeWithPoll, repeatedWithinMs } from "./duplicate.ts";
import { isRefused, type Outcome, outcomes } from "./outcome.ts";
import { applyQueuePolicy } from "./queue-policy.ts";
import { countedRequest, dueLimit, overSharedRate, type SharedLimit } from "./rate.ts";
import { carryOut, type Known, type Written } from "./record.ts";
import { handledTipOf, isOvertaken, type TipRules, tipRefOf } from "./ref-tip.ts";
import { checkRepository } from "./repository.ts";
import { newTrace, type Trace } from "./trace.ts";

/** A delivery that is located, read, verified and filtered, as far as its kind requires. */
export interface ArrivedDelivery {
  kind: DeliveryKind;
  rules: HookRules;
  known: Omit<Known, "event" | "trace">;
  /** The steps so far. */
  steps: TraceStep[];
  filtered: Filtered;
  /** The limit over all instances; null where this instance alone counts. */
  sharedLimit: SharedLimit | null;
  /** Whether the task's place in the queue must be counted. */
  countsPlace: boolean;
  tips: TipRules | null;
  /** The version of the project that the caller has; null: it has none. */
  projectVersion: string | null;
  /** For the links of messages. */
  consoleUrl: string;
}

/** The result of the hook's filters. */
export interface Filtered {
  /** Of a push with several refs, the event of the chosen one; null if the payload contains none. */
  event: NormalizedEvent | null;
  /** A sentence about refs that were not chosen. */
  aside: string;
  /** Null: passed. */
  outcome: Outcome | null;
  steps: TraceStep[];
}

export interface Accepted extends Written {
  projectVersion: string;
  /** Null: the caller has it. To hand it to another thread costs as much as the rest of the result. */
  project: Project | null;
  /** The count so far for the limit over all instances; null: it was not counted. */
  counted: ({ bucket: RateBucket; at: Date } & ProjectState["counted"]) | null;
}

/** A decision is repeated if the task that it relies on was claimed meanwhile. */
const maxAttempts = 3;

/**
 * Decides about a delivery and records it. It runs with the project's lock held: nothing else decides for the project,
 * but its tasks may be claimed meanwhile. "changed": the hook that the delivery was read with is outdated. "overtaken":
 * another delivery has handled the ref since a poll read it.
 */
export const acceptDelivery = operation(
  "acceptDelivery",
  async (keepers, arrived: ArrivedDelivery): Promise<Accepted | "changed" | "overtaken"> => {
    const now = keepers.now();
    const { known, rules, filtered, kind, tips } = arrived;
    const sharedLimit = dueLimit(arrived.sharedLimit, now);
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const state = await keepers.deliveries.projectState(requestOf({ ...arrived, sharedLimit }, now));
      if (state?.configUpdatedAt?.getTime() !== rules.updatedAt.getTime()) return "changed";
      if (isOvertaken(tips, state)) return "overtaken";
      const trace = newTrace(arrived.steps);
      const decision = await decide(keepers, { ...arrived, sharedLimit, state, trace, now });
      const written = await carryOut(
        keepers,
        { ...known, event: filtered.event, trace },
        decision,
        state,
        isHandled(decision.outcome) ? handledTipOf(filtered.event, kind, tips, now) : null,
        arrived.consoleUrl,
      );
      if (written !== null && filtered.outcome?.code === "ref_deleted")
        await forgetTip(keepers, known.projectId, tipRefOf(filtered.event, kind, tips));
      if (written !== null)
        return {
          ...written,
          projectVersion: state.projectVersion,
          project: state.projectVersion === arrived.projectVersion ? null : state.project,
          counted: sharedLimit && { bucket: sharedLimit.bucket, at: now, ...state.counted },
        };
    }
    throw new Fault("unavailable", `The tasks of project ${known.projectId} change too fast to decide.`);
  },
  { isShort: true },
);

/** A poll must find a push that was refused. A push of another repository says nothing about the tips of this one. */
function isHandled({ code }: Outcome): boolean {
  return !isRefused(outcomes[code]) && code !== "repository_mismatch";
}

type Deciding = Pick<ArrivedDelivery, "kind" | "rules" | "filtered" | "sharedLimit"> & {
  state: ProjectState;
  trace: Trace;
  now: Date;
};

/** The decision, in the order of the specification. */
export async function decide(keepers: Pick<Keepers, "tasks">, deciding: Deciding): Promise<Decision> {
  const { state, trace, now, sharedLimit, filtered } = deciding;
  const limited = sharedLimit && overSharedRate(state.counted, sharedLimit, trace, now);
  if (limited) return { outcome: limited };
  const { event, aside } = filtered;
  const misplaced = event && checkedRepository(deciding, event);
  if (misplaced) return { outcome: misplaced };
  for (const step of filtered.steps) trace.steps.push(step);
  if (filtered.outcome || event === null) return withAside({ outcome: filtered.outcome ?? noEvent }, aside);
  const hand = { ...deciding, event };
  const joined =
    (await mergeWithPoll(keepers, event, deciding.kind, state, trace)) ??
    (await debounce(keepers, hand)) ??
    (await joinSameChange(keepers, hand));
  return withAside(joined ?? applyQueuePolicy(hand) ?? startTask(hand), aside);
}

function checkedRepository({ kind, rules, state, trace }: Deciding, event: NormalizedEvent) {
  if (!kind.otherFilters || event.skip !== null) return null;
  return checkRepository(event, state.project, rules.repositoryCheck, trace);
}

/** A ref that is created again later is new. */
async function forgetTip(
  { refTips }: Pick<Keepers, "refTips">,
  projectId: number,
  ref: string | null,
): Promise<void> {
  if (ref !== null) await refTips.delete(projectId, [ref]);
}

const noEvent: Outcome = { code: "invalid_payload", reason: reasonText("no_event") };

function withAside(decision: Decision, aside: string): Decision {
  const { outcome } = decision;
  return aside === ""
    ? decision
    : { ...decision, outcome: { ...outcome, reason: `${outcome.reason} ${aside}` } };
}

/** Only the data that the decision depends on. */
export function requestOf(
  {
    kind,
    rules,
    filtered,
    sharedLimit,
    countsPlace,
    tips,
  }: Omit<ArrivedDelivery, "known" | "steps" | "projectVersion" | "consoleUrl">,
  now: Date,
): ProjectStateQuery {
  const { event } = filtered;
  const passes = event !== null && filtered.outcome === null;
  const hasWindow = passes && kind.debounce !== false && rules.debounceSeconds > 0;
  return {
    projectId: rules.projectId,
    now,
    counted: sharedLimit && countedRequest(sharedLimit.bucket, sharedLimit.perMinute, now),
    window: hasWindow
      ? {
          since: new Date(now.getTime() - rules.debounceSeconds * 1000),
          rawRef: rules.debounceScope === "ref" ? event.rawRef : null,
        }
      : null,
    pushed:
      passes && kind.debounce === true && rules.hasRepeats && sourceOf(event).announcedBy !== "request"
        ? { rawRef: event.rawRef, since: new Date(now.getTime() - repeatedWithinMs) }
        : null,
    tipOf: passes || tips?.expected ? tipRefOf(event, kind, tips) : null,
    unfinished: passes && rules.queuePolicy !== "always",
    queued:
      passes && countsPlace
        ? { priority: priorityOf.webhook, notBefore: startOf(kind, rules, event, now) }
        : null,
  };
}
