import type { Insertable } from "kysely";
import type { NewTask, Task } from "../../model/task.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import type { TaskTable } from "../query/schema.ts";
import { taskShape } from "./task-shape.ts";

const queued = {
  state: "queued",
  supersededBy: null,
  approval: null,
  rollback: null,
  reason: "",
  attempt: 0,
  leaseHash: null,
  leaseUntil: null,
  runnerId: null,
  startedAt: null,
  fetchingSince: null,
  deployingSince: null,
  serviceAction: null,
  finishedAt: null,
} as const satisfies Partial<Task>;

/** A new task as it goes into the queue. */
export function queuedTask(task: NewTask): Omit<Task, "id"> {
  return { ...queued, ...task };
}

const start = taskShape.insert(queued) as Partial<Record<string, unknown>>;

/** Columns that are null in every new task are left out, because binding a null costs as much as binding a value. */
export const newTaskColumns = taskShape.columns.filter((column) => column !== "id" && start[column] !== null);

export const insertTask = fixedQuery(newTaskColumns, (db, row: Insertable<TaskTable>, { tellsNewIds }) =>
  db
    .insertInto("tasks")
    .values(row)
    .$if(!tellsNewIds, (insert) => insert.returning("id")),
);

export function noProject({ projectId }: NewTask): { missing: Reason } {
  return { missing: newReason("gone_project", { id: projectId }) };
}
