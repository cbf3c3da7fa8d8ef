import { Fault } from "../../errors.ts";
import type { NormalizedEvent, ProjectState, ProjectStateQuery } from "../../model/delivery.ts";
import { type Keepers, operation } from "../../model/store.ts";
import { inOrder, newReason, type Reason } from "../../reason/reason.ts";
import { priorityOf } from "../../task/queue/enqueue.ts";
import { createTask, startOf } from "./create-task.ts";
import { debounce } from "./debounce.ts";
import { type Decision, type FilteredDelivery, traceOn } from "./delivery.ts";
import { joinPolled, joinReported, reportQuery } from "./duplicate.ts";
import { isRefused, type Outcome, outcomes } from "./outcome.ts";
import { applyQueuePolicy } from "./queue-policy.ts";
import { countedQuery, overSharedLimit, type SharedLimit } from "./rate.ts";
import { carryOut, type RecordedDelivery } from "./record.ts";
import { handledTipOf, isOvertaken, tipRefOf } from "./ref-tip.ts";
import { checkRepository } from "./repository.ts";

/** A delivery to decide about, and what the caller wants to know. */
export interface AcceptInput {
  delivery: FilteredDelivery;
  /** The limit over all instances; null where each instance counts alone. */
  sharedLimit: SharedLimit | null;
  /** Whether the task's place in the queue must be counted. */
  countsPlace: boolean;
  /** For the links of messages. */
  consoleUrl: string;
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
  async (keepers, input: AcceptInput): Promise<RecordedDelivery | "changed" | "overtaken"> => {
    const now = keepers.now();
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const state = await keepers.deliveries.projectState(stateQuery(input, now));
      const delivery = { ...input.delivery, trace: [...input.delivery.trace] };
      if (state?.configUpdatedAt?.getTime() !== delivery.config.updatedAt.getTime()) return "changed";
      if (isOvertaken(delivery, state)) return "overtaken";
      const decision = await decide(keepers, { ...input, delivery }, state, now);
      const tip = isHandled(decision.outcome) ? handledTipOf(delivery, now) : null;
      const recorded = await carryOut(keepers, delivery, decision, state, tip, input.consoleUrl);
      if (recorded === null) continue;
      const deletedRef = delivery.stoppedBy?.code === "ref_deleted" ? tipRefOf(delivery) : null;
      // A ref that is created again later is new.
      if (deletedRef !== null) await keepers.refTips.delete(delivery.projectId, [deletedRef]);
      return recorded;
    }
    throw new Fault(
      "unavailable",
      `The tasks of project ${input.delivery.projectId} change too fast to decide.`,
    );
  },
  { isShort: true },
);

/** A poll must find a push that was refused. A push of another repository says nothing about the tips of this one. */
function isHandled({ code }: Outcome): boolean {
  return !isRefused(outcomes[code]) && code !== "repository_mismatch";
}

/** The decision, in the order of the specification. It adds its steps to the trace of the delivery. */
export async function decide(
  keepers: Pick<Keepers, "tasks">,
  { delivery, sharedLimit }: Pick<AcceptInput, "delivery" | "sharedLimit">,
  state: ProjectState,
  now: Date,
): Promise<Decision> {
  const { event, aside, stoppedBy, filterTrace } = delivery;
  const refusal =
    (sharedLimit && overSharedLimit(state.counted, sharedLimit, traceOn(delivery.trace), now)) ??
    (event && checkedRepository(delivery, event, state));
  if (refusal) return { outcome: refusal };
  delivery.trace.push(...filterTrace);
  if (stoppedBy || event === null) return withAside({ outcome: stoppedBy ?? noEvent }, aside);
  const passed = { ...delivery, event, state, now };
  const decision =
    (await joinPolled(keepers, passed)) ??
    (await debounce(keepers, passed)) ??
    (await joinReported(keepers, passed)) ??
    applyQueuePolicy(passed) ??
    createTask(passed);
  return withAside(decision, aside);
}

function checkedRepository(
  { kind, config, trace }: FilteredDelivery,
  event: NormalizedEvent,
  { project }: ProjectState,
): Outcome | null {
  if (!kind.otherFilters || event.skip !== null) return null;
  return checkRepository(event, project, config.repositoryCheck, traceOn(trace));
}

const noEvent: Outcome = { code: "invalid_payload", reason: newReason("no_event") };

function withAside(decision: Decision, aside: Reason): Decision {
  const { outcome } = decision;
  const reason = aside === "" ? outcome.reason : inOrder(outcome.reason, aside);
  return { ...decision, outcome: { ...outcome, reason } };
}

/** Only the data that the decision depends on. */
export function stateQuery(
  { delivery, sharedLimit, countsPlace }: Omit<AcceptInput, "consoleUrl">,
  now: Date,
): ProjectStateQuery {
  const { kind, config, event, stoppedBy, comparedTip } = delivery;
  const passed = stoppedBy === null ? event : null;
  const hasWindow = kind.debounce !== false && config.debounceSeconds > 0;
  return {
    projectId: config.projectId,
    now,
    counted: sharedLimit && countedQuery(sharedLimit, now),
    window:
      passed && hasWindow
        ? {
            since: new Date(now.getTime() - config.debounceSeconds * 1000),
            rawRef: config.debounceScope === "ref" ? passed.rawRef : null,
          }
        : null,
    pushed: passed && reportQuery(kind, config, passed, now),
    tipOf: passed || comparedTip ? tipRefOf(delivery) : null,
    unfinished: passed !== null && config.queuePolicy !== "always",
    queued:
      passed && countsPlace
        ? { priority: priorityOf.webhook, notBefore: startOf(kind, config, passed, now) }
        : null,
  };
}
