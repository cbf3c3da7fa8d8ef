import { Fault } from "../../errors.ts";
import type { DeliverySummary, NewDelivery, Situation } from "../../model/delivery.ts";
import type { AddedCall } from "../../model/outgoing-call.ts";
import type { HandledTip } from "../../model/ref-tip.ts";
import type { Keepers, OperationKeepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { reasonText } from "../../reason/reason.ts";
import { reportDelivery } from "../../task/notify/delivery-news.ts";
import { reportEnqueued, reportMoved } from "../../task/notify/report-task.ts";
import { type Enqueued, type QueuePlace, supersedeOlder } from "../../task/queue/queue.ts";
import type { Waiting } from "../../task/queue/waiting.ts";
import { type DeliveryAnswer, type Outcome, shortReason } from "./outcome.ts";
import { type Known, recordOf, summaryOf } from "./record.ts";
import type { Decision } from "./task-steps.ts";

/** A recorded delivery and its result. */
export interface Written {
  id: number;
  record: Omit<DeliverySummary, "id" | "repeat_of" | "replaced_by">;
  outcome: Outcome;
  enqueued?: Omit<Enqueued, "project">;
  /** What was stored for people and the Git host. */
  calls: AddedCall[];
  /** The place of a new task; null: it was not counted. */
  place?: QueuePlace | null;
  /** The delivery that the task builds instead of this one. */
  replacedBy?: number | null;
  /** The task that took over this delivery's ref and commit. */
  moved?: Task;
}

/**
 * Carries out a decision: writes the record and changes tasks. Null if the task to merge into was claimed meanwhile:
 * then the decision must be repeated.
 */
export async function carryOut(
  keepers: OperationKeepers,
  known: Known,
  decision: Decision,
  situation: Situation,
  tip: HandledTip | null,
  consoleUrl: string,
): Promise<Written | null> {
  const { outcome, start, merge } = decision;
  const { project, hasStatusToken } = situation;
  const now = keepers.now();
  if (merge) {
    const record = recordOf(known, outcome, now, merge.into.id);
    const merged = await mergeInto(keepers, record, tip, outcome, merge);
    if (!merged?.moved) return merged;
    const moved = { task: merged.moved, from: merge.into };
    return { ...merged, calls: await reportMoved(keepers, moved, consoleUrl, { project, hasStatusToken }) };
  }
  const record = recordOf(known, outcome, now);
  if (!start) {
    const id = await keepers.deliveries.create(record, tip);
    const summary = summaryOf(record);
    const calls = await reportDelivery(keepers, { ...summary, id }, project, consoleUrl);
    return { id, record: summary, outcome, calls };
  }
  const { id, task } = await keepers.deliveries.createWithTask(record, start.task, tip);
  const superseded = await supersedeOlder(keepers, project, task, now);
  return {
    id,
    record: { ...summaryOf(record), task_id: task.id },
    outcome,
    enqueued: { task, superseded },
    calls: await reportEnqueued(keepers, { task, superseded, project, hasStatusToken }, consoleUrl),
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
): Promise<Written | null> {
  const task = order && (await tasks.change(into.id, { whileIn: ["queued"], set: order }));
  if (order !== null && task === null) return null;
  const builtBy = await deliveries.builtBy(into);
  const id = await deliveries.create(record, tip);
  if (builtBy !== null && task !== null) await deliveries.replace(builtBy, id, into.id);
  if (builtBy !== null && isDisplaced) await deliveries.replace(id, builtBy, into.id);
  const written = { id, record: summaryOf(record), outcome, calls: [] };
  const replaced = { ...written, replacedBy: isDisplaced ? builtBy : null };
  return task === null ? replaced : { ...replaced, moved: task };
}

/** The task fields of the response. */
export function effectsOf(
  { record, outcome, enqueued }: Written,
  place: QueuePlace | null,
  waiting: Waiting | null,
): Partial<DeliveryAnswer> {
  const mergedIntoTaskId = record.merged_into_task_id;
  if (mergedIntoTaskId !== null) return { message: shortReason(outcome.reason), mergedIntoTaskId };
  if (!enqueued || !place) return { message: shortReason(outcome.reason) };
  const { task } = enqueued;
  // The Git host is informed only of a lasting reason, not of a runner that still has to connect.
  const lasting = waiting?.isLasting ? waiting.text : null;
  const effects = { message: messageOf(task, place, lasting), taskId: task.id };
  return place.queued || lasting !== null
    ? { ...effects, queued: true, queuePosition: place.position }
    : effects;
}

function messageOf({ id, notBefore }: Task, place: QueuePlace, waiting: string | null): string {
  const { position } = place;
  if (waiting !== null) return reasonText("sent_waiting", { task: id, position, why: waiting });
  if (place.queued) return reasonText("sent_queued", { task: id, position });
  if (notBefore === null) return reasonText("sent", { task: id });
  return reasonText("sent_later", { task: id, time: notBefore.toISOString() });
}

/** For a project that was deleted while its delivery waited. */
export function isProjectGone(error: unknown): boolean {
  return error instanceof Fault && error.code === "not_found";
}
