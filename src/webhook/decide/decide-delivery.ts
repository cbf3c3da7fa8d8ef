import type { NormalizedEvent } from "../../model/delivery.ts";
import type { Project } from "../../model/project.ts";
import { type Keepers, operation } from "../../model/store.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import { inOrder, newReason, type Reason } from "../../reason/reason.ts";
import { priorityOf } from "../../task/release/task-order.ts";
import { rulesOf } from "../hook/compiled-rules.ts";
import { createTask, startOf } from "./create-task.ts";
import { debounce } from "./debounce.ts";
import {
  type Decision,
  type FilteredDelivery,
  type HookConfig,
  type PendingDelivery,
  type ProjectState,
  traceOn,
} from "./delivery.ts";
import { joinPolled, joinReported, reportedSince } from "./duplicate.ts";
import { applyFilters, type Filtered } from "./filters.ts";
import { isRefused, type Outcome, outcomes } from "./outcome.ts";
import { applyQueuePolicy } from "./queue-policy.ts";
import { bucketOf, countedSince, overSharedLimit } from "./rate.ts";
import { carryOut, type RecordedDelivery, withBoundedEvent } from "./record.ts";
import { handledTipOf, isOvertaken, tipRefOf } from "./ref-tip.ts";
import { checkRepository } from "./repository.ts";
import { notEnabled, signatureInvalid } from "./verify.ts";

/** A delivery to decide about, and what the caller knows or wants to know. */
export interface AcceptInput {
  delivery: PendingDelivery;
  /** The configuration by which a live delivery was verified and read; null: the delivery does not depend on one. */
  readBy: WebhookConfig | null;
  /** The settings of the installation. */
  settings: DecisionSettings;
  /** Whether the task's place in the queue must be counted. */
  countsPlace: boolean;
  /** For the links of messages. */
  consoleUrl: string;
}

export interface DecisionSettings {
  /** webhook.debounceSeconds, for projects that set none. */
  debounceSeconds: number;
  /** The limit per minute over all instances; null where each instance counts alone. */
  sharedPerMinute: number | null;
  /** Whether repositories are polled: otherwise the tips of refs are not needed. */
  keepsTips: boolean;
}

/**
 * Decides about a delivery and records it, by the webhook as it is stored now. It runs with the project's lock held, so
 * that nothing else decides for the project. "gone": the key was reset or the project deleted since the delivery arrived.
 * "overtaken": another delivery has handled the ref since a poll read it.
 */
export const acceptDelivery = operation(
  "acceptDelivery",
  async (keepers, input: AcceptInput): Promise<RecordedDelivery | "gone" | "overtaken"> => {
    const { readBy, settings, countsPlace, consoleUrl } = input;
    const now = keepers.now();
    const found = await keepers.webhookConfigs.withProject(input.delivery.projectId);
    if (found === null || (readBy !== null && found.config?.key !== readBy.key)) return "gone";
    const pending = { ...input.delivery, trace: [...input.delivery.trace] };
    const config = enabledConfig(pending, found.config);
    if (config === null) {
      const outcome = notEnabled(traceOn(pending.trace));
      return carryOut(keepers, pending, { outcome }, found, null, consoleUrl);
    }
    if (readBy !== null && !isReadAlike(readBy, config)) {
      const outcome = signatureInvalid(config, newReason("proof_changed"), traceOn(pending.trace));
      return carryOut(keepers, withBoundedEvent(pending), { outcome }, found, null, consoleUrl);
    }
    const delivery = filtered(pending, config, found.project, settings);
    const place = await placeOf(keepers, delivery, found.project);
    const state = await stateOf(keepers, delivery, place, countsPlace, now);
    if (isOvertaken(delivery, state)) return "overtaken";
    const decision = await decide(keepers, delivery, state, settings, now);
    const tip = isHandled(decision.outcome) ? handledTipOf(delivery, now) : null;
    const known = { ...found, project: place };
    const recorded = await carryOut(keepers, delivery, decision, known, tip, consoleUrl);
    const deletedRef = delivery.stoppedBy?.code === "ref_deleted" ? tipRefOf(delivery) : null;
    // A ref that is created again later is new.
    if (deletedRef !== null) await keepers.refTips.delete(delivery.projectId, [deletedRef]);
    return recorded;
  },
);

/** The configuration that decides; null: the webhook is not enabled. */
function enabledConfig({ kind }: PendingDelivery, config: WebhookConfig | null): WebhookConfig | null {
  return config !== null && (config.enabled || !kind.enabled) ? config : null;
}

/** What verifies a sender and says how its body is read. */
const proofFields = [
  ...(["provider", "secret", "verifyMode", "secretHeader", "secretQuery"] as const),
  ...(["signaturePrefix", "signatureEncoding"] as const),
];
const secondProofFields = ["secondSecret", "secondSecretUntil"] as const;

/**
 * Whether a delivery that was verified and read by one configuration would be by the other. A body proven with a secret that
 * was replaced meanwhile must not start a task.
 */
function isReadAlike(one: WebhookConfig, other: WebhookConfig): boolean {
  const fields = one.secondSecret === null ? proofFields : [...proofFields, ...secondProofFields];
  return fields.every((field) => JSON.stringify(one[field]) === JSON.stringify(other[field]));
}

/** A delivery with what the rules of its webhook say about it. */
export function filtered(
  delivery: PendingDelivery,
  saved: WebhookConfig,
  project: Project,
  { debounceSeconds, keepsTips }: DecisionSettings,
): FilteredDelivery {
  const config: HookConfig = {
    ...saved,
    debounceSeconds: saved.debounceSeconds ?? debounceSeconds,
    // Pushes to two environments are two deploys.
    ...(project.environments.length > 0 ? { debounceScope: "ref" } : {}),
  };
  const { event, kind, problem } = delivery;
  const result = event === null ? unreadable(problem) : applyFilters(event, rulesOf(config, project), kind);
  return { ...delivery, ...result, config, keepsTip: keepsTips && project.git.url !== "" };
}

function unreadable(problem: Reason): Omit<Filtered, "event"> {
  const trace = traceOn([]);
  trace.add("payload", "stop", "", "a JSON object", problem);
  const stoppedBy = { code: "invalid_payload", reason: problem } as const;
  return { stoppedBy, environment: null, aside: "", filterTrace: trace.steps };
}

/** A poll must find a push that was refused. A push of another repository says nothing about the tips of this one. */
function isHandled({ code }: Outcome): boolean {
  return !isRefused(outcomes[code]) && code !== "repository_mismatch";
}

/** The decision, in the order of the specification. It adds its steps to the trace of the delivery. */
export async function decide(
  keepers: Pick<Keepers, "tasks">,
  delivery: FilteredDelivery,
  state: ProjectState,
  { sharedPerMinute }: DecisionSettings,
  now: Date,
): Promise<Decision> {
  const { event, aside, stoppedBy, filterTrace, kind, trace } = delivery;
  const isCounted = sharedPerMinute !== null && kind.rate;
  const refusal =
    (isCounted
      ? overSharedLimit(state.counted, bucketOf(event, delivery.config), sharedPerMinute, traceOn(trace), now)
      : null) ??
    (event && checkedRepository(delivery, event, state.project));
  if (refusal) return { outcome: refusal };
  trace.push(...filterTrace);
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
  project: Project,
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

/** The project, or the environment of it that takes the ref. */
export async function placeOf(
  { projects }: Pick<Keepers, "projects">,
  { environment }: FilteredDelivery,
  project: Project,
): Promise<Project> {
  if (environment === null) return project;
  const all = await projects.environmentsOf([project.id]);
  return all.find((each) => each.environment?.name === environment) ?? project;
}

/** The state of a project as far as the decision about a delivery depends on it. */
export async function stateOf(
  { deliveries }: Pick<Keepers, "deliveries">,
  delivery: FilteredDelivery,
  place: Project,
  countsPlace: boolean,
  now: Date,
): Promise<ProjectState> {
  const { kind, config, event, stoppedBy } = delivery;
  const rawRef = event?.rawRef ?? "";
  const mayStart = event !== null && stoppedBy === null;
  const recent = await deliveries.recent({
    projectId: delivery.projectId,
    placeId: place.id,
    now,
    counted: { bucket: bucketOf(event, config), since: countedSince(now) },
    window: {
      since: new Date(now.getTime() - config.debounceSeconds * 1000),
      rawRef: config.debounceScope === "ref" ? rawRef : null,
    },
    pushed: { rawRef, since: reportedSince(now) },
    queued:
      mayStart && countsPlace
        ? { priority: priorityOf.webhook, notBefore: startOf(kind, config, event, now) }
        : null,
  });
  return { ...recent, project: place, tip: tipRefOf(delivery) === null ? null : recent.tip };
}
