import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Task, TaskStage, TaskState, TaskStep } from "../../model/task.ts";
import { type Field, json, optional, plain, reasonField, time } from "../query/row.ts";
import { table } from "../query/table.ts";
import { approvalField, pipelineField } from "./pipeline-field.ts";

type Stored<S extends TaskStep> = Omit<S, "startedAt" | "finishedAt"> & {
  startedAt: string | null;
  finishedAt: string | null;
};
/** Tasks of version 1.0 have no steps. */
type StoredStage = Stored<Omit<TaskStage, "steps">> & { steps?: Stored<TaskStep>[] };

const stages: Field<TaskStage[]> = {
  encode: (value) => JSON.stringify(value),
  decode: (stored) =>
    (JSON.parse(String(stored)) as StoredStage[]).map((stage) => ({
      ...withDates(stage),
      steps: (stage.steps ?? []).map(withDates),
    })),
};

function withDates<S extends Stored<TaskStep>>(stored: S) {
  return { ...stored, startedAt: dateOf(stored.startedAt), finishedAt: dateOf(stored.finishedAt) };
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}

export const taskShape = table<Task, "tasks">("tasks", {
  id: plain(),
  projectId: plain(),
  state: plain(),
  triggerType: plain(),
  triggeredBy: plain(),
  ref: plain(),
  commit: plain(),
  message: plain(),
  author: plain(),
  actions: optional(json()),
  stages,
  causeRef: plain(),
  causeCommit: plain(),
  source: optional(json()),
  deliveryId: plain(),
  rerunOf: plain(),
  supersededBy: plain(),
  approval: optional(approvalField),
  rollbackTo: plain(),
  rollback: optional(json()),
  reason: reasonField,
  priority: plain(),
  traceparent: plain(),
  notBefore: optional(time),
  attempt: plain(),
  leaseHash: plain(),
  leaseUntil: optional(time),
  runnerId: plain(),
  createdAt: time,
  startedAt: optional(time),
  fetchingSince: optional(time),
  deployingSince: optional(time),
  finishedAt: optional(time),
  serviceAction: optional(json()),
  deploys: optional(json()),
  move: optional(json()),
  targetRunnerId: plain(),
  pipeline: optional(pipelineField),
});

/**
 * States as literals, exactly as in the partial indexes of the tasks table: a database uses such an index only if the
 * query states its condition as a literal.
 */
export const isQueued = sql<SqlBool>`state = 'queued'`;
export const isHeld = sql<SqlBool>`state in ('dispatched', 'running', 'canceling')`;
/** Not an action with services, which is in a lane of its own. */
export const isDeploy = sql<SqlBool>`service_action is null`;
export const isUnfinished = sql<SqlBool>`state in ('queued', 'dispatched', 'running', 'canceling')`;

/** Word for word as in the indexes over finished tasks. */
export const isFinished = sql<SqlBool>`finished_at is not null`;

export const isWaiting = sql<SqlBool>`state = 'waiting'`;

/** As a literal, so that the partial indexes over unfinished tasks can be used too. */
export function isInState(state: TaskState): RawBuilder<SqlBool> {
  return sql<SqlBool>`state = ${sql.lit(state)}`;
}
