import { Fault } from "../../errors.ts";
import type { NewDelivery } from "../../model/delivery.ts";
import type { Project } from "../../model/project.ts";
import type { Unit } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { type Enqueued, type QueuePlace, supersedeOlder } from "../../task/queue/queue.ts";
import { type DeliveryAnswer, type Outcome, shortReason } from "./outcome.ts";
import { type Known, recordOf } from "./record.ts";
import type { Decision } from "./task-steps.ts";

type StartedTask = Pick<NonNullable<Decision["start"]>, "place" | "waiting">;

/** A delivery that is on record, and what came of it. */
export interface Written {
  id: number;
  record: NewDelivery;
  outcome: Outcome;
  enqueued?: Enqueued;
  start?: StartedTask;
  /** The delivery that the task builds instead of this one. */
  replacedBy?: number | null;
  /** The task that took over this delivery's ref and commit, and how it stood before. */
  moved?: { task: Task; from: Task };
}

/**
 * Carries out a decision: the record, and what is done to tasks, in one write. Null when the task that it would have
 * been merged into was claimed meanwhile: then it has to be decided anew.
 */
export async function carryOut(
  store: Unit,
  known: Known,
  { outcome, start, merge }: Decision,
  project: Project,
  now: Date,
): Promise<Written | null> {
  if (merge) return mergeInto(store, recordOf(known, outcome, now, merge.into.id), outcome, merge);
  const record = recordOf(known, outcome, now);
  if (!start) return { id: await store.deliveries.create(record), record, outcome };
  if (project.supersede === "none") {
    const { id, task } = await store.deliveries.createWithTask(record, start.task);
    return writtenWith(id, record, outcome, { task, project, superseded: [] }, start);
  }
  return store.transaction(async (keepers) => {
    const { id, task } = await keepers.deliveries.createWithTask(record, start.task);
    const superseded = await supersedeOlder(keepers, project, task, now);
    return writtenWith(id, record, outcome, { task, project, superseded }, start);
  });
}

function writtenWith(
  id: number,
  record: NewDelivery,
  outcome: Outcome,
  enqueued: Enqueued,
  start: StartedTask,
): Written {
  return { id, record: Object.assign(record, { task_id: enqueued.task.id }), outcome, enqueued, start };
}

/** The last delivery wins: it replaces the one that the task would have built, unless the task keeps that one. */
function mergeInto(
  store: Unit,
  record: NewDelivery,
  outcome: Outcome,
  { into, order, isDisplaced }: NonNullable<Decision["merge"]>,
): Promise<Written | null> {
  return store.transaction(async (keepers) => {
    const { deliveries } = keepers;
    const task = order && (await keepers.tasks.change(into.id, { whileIn: ["queued"], set: order }));
    if (order !== null && task === null) return null;
    const builtBy = await deliveries.builtBy(into);
    const id = await deliveries.create(record);
    if (builtBy !== null && task !== null) await deliveries.replace(builtBy, id, into.id);
    if (builtBy !== null && isDisplaced) await deliveries.replace(id, builtBy, into.id);
    const written = { id, record, outcome, replacedBy: isDisplaced ? builtBy : null };
    return task === null ? written : { ...written, moved: { task, from: into } };
  });
}

/** The fields of the answer that speak of tasks. */
export function effectsOf({ record, outcome, enqueued, start }: Written): Partial<DeliveryAnswer> {
  const mergedIntoTaskId = record.merged_into_task_id;
  if (mergedIntoTaskId !== null) return { message: shortReason(outcome.reason), mergedIntoTaskId };
  if (!enqueued || !start) return { message: shortReason(outcome.reason) };
  const { task } = enqueued;
  const { place } = start;
  // A Git host is informed only of a lasting reason, not of a runner that merely has to connect.
  const waiting = start.waiting?.isLasting ? start.waiting.text : null;
  const effects = { message: messageOf(task, place, waiting), taskId: task.id };
  return place.queued || waiting !== null
    ? { ...effects, queued: true, queuePosition: place.position }
    : effects;
}

function messageOf({ id, notBefore }: Task, place: QueuePlace, waiting: string | null): string {
  if (waiting !== null) return `Task ${id} is queued at position ${place.position}, ${waiting}.`;
  if (place.queued) return `Task ${id} is queued at position ${place.position}.`;
  if (notBefore === null) return `Task ${id} was dispatched.`;
  return `Task ${id} was dispatched, starts at ${notBefore.toISOString()}.`;
}

/** A project that was deleted while its delivery waited. */
export function isProjectGone(error: unknown): boolean {
  return error instanceof Fault && error.code === "not_found";
}
