import type {
  DeliverySummary,
  Followed,
  NewDelivery,
  NormalizedEvent,
  TraceStep,
} from "../../model/delivery.ts";
import type { AddedCall } from "../../model/outgoing-call.ts";
import type { Project } from "../../model/project.ts";
import type { HandledTip } from "../../model/ref-tip.ts";
import { type Keepers, type OperationKeepers, operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import type { ProjectWebhook } from "../../model/webhook-config.ts";
import { inOrder, mapTexts, newReason } from "../../reason/reason.ts";
import { reportDelivery } from "../../task/notify/delivery-news.ts";
import { reportMoved } from "../../task/notify/report-task.ts";
import { type Enqueued, enqueue } from "../../task/queue.ts";
import type { Decision, PendingDelivery } from "./delivery.ts";
import { type Outcome, outcomes, shortReason } from "./outcome.ts";
import type { QueuePlace } from "./queue-position.ts";
import { firstLineOf } from "./skip.ts";
import { cutAtBytes, maxMessageBytes, visible } from "./stored-body.ts";

const maxCommitMessage = 200;
const maxFieldLength = 300;

/** The record of a delivery. The task's id is set when the task is created. */
export function recordOf(
  delivery: PendingDelivery,
  outcome: Outcome,
  createdAt: Date,
  mergedIntoTaskId: number | null = null,
): NewDelivery {
  const { event } = delivery;
  const { httpStatus, status } = outcomes[outcome.code];
  return {
    project_id: delivery.projectId,
    project_name: delivery.projectName,
    provider: delivery.provider,
    event: event?.event ?? "",
    ref: fieldOf(event?.ref ?? ""),
    ref_type: event?.refType ?? "",
    commit: fieldOf(event?.commit ?? ""),
    commit_message: commitMessageOf(event?.message ?? ""),
    author: fieldOf(event?.author ?? ""),
    status,
    reason: mapTexts(shortReason(outcome.reason), visible),
    task_id: 0,
    remote_ip: delivery.remoteIp,
    body: delivery.body,
    created_at: createdAt,
    code: outcome.code,
    http_status: httpStatus,
    count: 1,
    host_delivery_id: fieldOf(delivery.hostDeliveryId ?? ""),
    replay_of: delivery.replayOf,
    merged_into_task_id: mergedIntoTaskId,
    former_project_id: delivery.formerProjectId,
    headers: delivery.headers,
    normalized: event && withMessage(event, cutAtBytes(event.message, maxMessageBytes)),
    trace: delivery.trace,
  };
}

/** In characters of its JSON; a usual event takes one or two thousand. */
const maxUnprovenEvent = 16 * 1024;
const maxUnprovenMessageBytes = 4096;

/**
 * The record of an unverified sender keeps only what is needed to recognise the event and to replay it with `force`, without
 * a list of ten thousand paths: anyone can send such events in large numbers.
 */
export function withBoundedEvent(delivery: PendingDelivery): PendingDelivery {
  const { event } = delivery;
  if (event === null || JSON.stringify(event).length <= maxUnprovenEvent) return delivery;
  const { otherRefs: _otherRefs, ...rest } = event;
  const bounded = {
    ...rest,
    paths: null,
    pathsUnknownBecause: newReason("paths_unproven"),
    message: cutAtBytes(event.message, maxUnprovenMessageBytes),
  };
  return { ...delivery, event: JSON.stringify(bounded).length <= maxUnprovenEvent ? bounded : null };
}

function withMessage(event: NormalizedEvent, message: string): NormalizedEvent {
  return message === event.message ? event : { ...event, message };
}

/** Cut before it is escaped, so that a long line costs little, and again after, because escapes are longer. */
function commitMessageOf(message: string): string {
  return firstCharacters(visible(firstCharacters(firstLineOf(message), maxCommitMessage)), maxCommitMessage);
}

/** Whole characters; each is at most two UTF-16 units. */
function firstCharacters(text: string, count: number): string {
  return text.length <= count ? text : [...text.slice(0, 2 * count)].slice(0, count).join("");
}

function fieldOf(text: string): string {
  return visible(text.length <= maxFieldLength ? text : `${text.slice(0, maxFieldLength)}…`);
}

/** The form in lists. */
export function summaryOf<D extends NewDelivery>(
  delivery: D,
): Omit<D, "body" | "headers" | "normalized" | "trace"> {
  const { body: _body, headers: _headers, normalized: _normalized, trace: _trace, ...summary } = delivery;
  return summary;
}

/** A recorded delivery and its result. */
export interface RecordedDelivery {
  id: number;
  record: Omit<DeliverySummary, "id" | "repeat_of" | Followed>;
  outcome: Outcome;
  enqueued?: Omit<Enqueued, "calls">;
  /** The project, or the environment of it, that has its task. */
  project?: Pick<Project, "id" | "name" | "environment">;
  /** What was stored for people and the Git host. */
  calls: AddedCall[];
  /** The place of a new task; null: it was not counted. */
  place?: QueuePlace | null;
  /** The delivery that the task builds instead of this one. */
  replacedBy?: number | null;
  /** The task that took over this delivery's ref and commit. */
  moved?: Task;
}

/** Carries out a decision: writes the record and changes tasks. */
export async function carryOut(
  keepers: OperationKeepers,
  delivery: PendingDelivery,
  decision: Decision,
  known: ProjectWebhook,
  tip: HandledTip | null,
  consoleUrl: string,
): Promise<RecordedDelivery> {
  const { outcome, start, merge } = decision;
  const { project } = known;
  const now = keepers.now();
  if (merge) {
    const record = recordOf(delivery, outcome, now, merge.into.id);
    const merged = await mergeInto(keepers, record, tip, outcome, merge);
    if (!merged.moved) return merged;
    const moved = { task: merged.moved, from: merge.into };
    return { ...merged, project, calls: await reportMoved(keepers, moved, consoleUrl, known) };
  }
  const record = recordOf(delivery, outcome, now);
  if (!start) {
    const id = await keepers.deliveries.create(record, tip);
    const summary = summaryOf(record);
    const calls = await reportDelivery(
      keepers,
      { ...summary, id },
      project,
      consoleUrl,
      delivery.traceparent,
    );
    return { id, record: summary, outcome, calls };
  }
  const announced = { id: project.id, name: project.name, environment: project.environment };
  const { id, task } = await keepers.deliveries.createWithTask(record, start.task, tip);
  const { calls, ...enqueued } = await enqueue(keepers, task, known, consoleUrl);
  return {
    id,
    record: { ...summaryOf(record), task_id: task.id },
    outcome,
    enqueued,
    project: announced,
    calls,
    place: start.place,
  };
}

/** The last delivery wins: it replaces the delivery that the task would have built, unless the task keeps that one. */
async function mergeInto(
  { deliveries, tasks }: Pick<Keepers, "deliveries" | "tasks">,
  record: NewDelivery,
  tip: HandledTip | null,
  outcome: Outcome,
  { into, order, isDisplaced }: NonNullable<Decision["merge"]>,
): Promise<RecordedDelivery> {
  const task = order && (await tasks.change(into.id, { whileIn: ["queued"], set: order }));
  if (order !== null && task === null) throw new Error(`Task ${into.id} changed while it was held.`);
  const builtBy = await deliveries.builtBy(into);
  const id = await deliveries.create(record, tip);
  if (builtBy !== null && task !== null) await deliveries.replace(builtBy, id, into.id);
  if (builtBy !== null && isDisplaced) await deliveries.replace(id, builtBy, into.id);
  const written = { id, record: summaryOf(record), outcome, calls: [] };
  const replaced = { ...written, replacedBy: isDisplaced ? builtBy : null };
  return task === null ? replaced : { ...replaced, moved: task };
}

interface Refusal {
  record: NewDelivery;
  traceparent: string | null;
  consoleUrl: string;
}

/** Records a delivery that was refused before it could be decided, and stores the messages about it. */
export const recordRefusal = operation(
  "recordRefusal",
  async (
    keepers,
    { record, traceparent, consoleUrl }: Refusal,
  ): Promise<{ id: number; calls: AddedCall[] }> => {
    const id = await keepers.deliveries.create(record);
    const project = await keepers.projects.byId(record.project_id);
    const calls =
      project === null
        ? []
        : await reportDelivery(keepers, { ...summaryOf(record), id }, project, consoleUrl, traceparent);
    return { id, calls };
  },
);

/** Adds to the reason of a delivery that its task builds the ref and commit of another delivery. */
export function withReplacedBy<D extends DeliverySummary & { trace?: TraceStep[] }>(delivery: D): D {
  const { replaced_by, reason, trace } = delivery;
  if (replaced_by === null) return delivery;
  const detail = newReason("replaced", { delivery: replaced_by });
  const named = { ...delivery, reason: inOrder(reason, detail) };
  if (trace === undefined) return named;
  const step: TraceStep = {
    step: "replaced",
    result: "stop",
    value: `delivery ${replaced_by}`,
    pattern: "",
    detail,
  };
  return { ...named, trace: [...trace, step] };
}
