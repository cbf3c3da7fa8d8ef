import type { NewTask, Task } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import type { Scope } from "../query/scope.ts";
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
  deploys: null,
  move: null,
  targetRunnerId: null,
  pipeline: null,
  finishedAt: null,
} as const satisfies Partial<Task>;

/** Puts a new task into the queue. */
export function createTask(scope: Scope, task: NewTask): Promise<Task> {
  const gone = newReason("gone_project", { id: task.projectId });
  return taskShape.create(scope, { ...queued, ...task }, { missing: gone });
}
