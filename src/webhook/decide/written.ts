import { Fault } from "../../errors.ts";
import type { DeliverySummary, NewDelivery, Situation } from "../../model/delivery.ts";
import type { HandledTip } from "../../model/ref-tip.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
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
  /** The place of a new task; null: it was not counted. */
  place?: QueuePlace | null;
  /** The delivery that the task builds instead of this one. */
  replacedBy?: number | null;
  /** The task that took over this delivery's ref and commit, and its state before. */
  moved?: { task: Task; from: Task };
}

/**
 * Carries out a decision: writes the record and changes tasks. Null if the task to merge into was claimed meanwhile:
 * then the decision must be repeated.
 */
export async function carryOut(
  keepers: Pick<Keepers, "deliveries" | "tasks">,
  known: Known,
  { outcome, start, merge }: Decision,
  { project, hasStatusToken }: Situation,
  now: Date,
  tip: HandledTip | null,
): Promise<Written | null> {
  if (merge) return mergeInto(keepers, recordOf(known, outcome, now, merge.into.id), tip, outcome, merge);
  const record = recordOf(known, outcome, now);
  if (!start) return { id: await keepers.deliveries.create(record, tip), record: summaryOf(record), outcome };
  const { id, task } = await keepers.deliveries.createWithTask(record, start.task, tip);
  const superseded = await supersedeOlder(keepers, project, task, now);
  return {
    id,
    record: { ...summaryOf(record), task_id: task.id },
    outcome,
    enqueued: { task, superseded, hasStatusToken },
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
  const written = { id, record: summaryOf(record), outcome, replacedBy: isDisplaced ? builtBy : null };
  return task === null ? written : { ...written, moved: { task, from: into } };
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
  if (waiting !== null) return `Task ${id} is queued at position ${place.position}, ${waiting}.`;
  if (place.queued) return `Task ${id} is queued at position ${place.position}.`;
  if (notBefore === null) return `Task ${id} was dispatched.`;
  return `Task ${id} was dispatched, starts at ${notBefore.toISOString()}.`;
}

/** For a project that was deleted while its delivery waited. */
export function isProjectGone(error: unknown): boolean {
  return error instanceof Fault && error.code === "not_found";
}
