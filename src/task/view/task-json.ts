import { type LogLine, laneOf, type Task, type TaskStep, type TaskWait, waitedMs } from "../../model/task.ts";
import { renderReason, type Sentence } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";

/** A task as the API, live messages and notifications write it. */
export function taskJson(task: Task, queued: { queuePosition?: number; wait?: TaskWait } = {}) {
  return {
    id: task.id,
    projectId: task.projectId,
    state: task.state,
    triggerType: task.triggerType,
    triggeredBy: task.triggeredBy,
    ref: task.ref,
    commit: task.commit,
    message: task.message,
    author: task.author,
    actions: task.actions,
    stages: task.stages.map((stage) => ({ ...stepJson(stage), steps: stage.steps.map(stepJson) })),
    ...reasonJson({ reason: task.reason }),
    attempt: task.attempt,
    runnerId: task.runnerId,
    rerunOf: task.rerunOf,
    supersededBy: task.supersededBy,
    rollbackTo: task.rollbackTo,
    lane: laneOf(task),
    serviceAction: task.serviceAction,
    deploys: task.deploys,
    move: task.move,
    rollback: task.rollback && { ...task.rollback, reason: renderReason(task.rollback.reason) },
    causeRef: task.causeRef,
    causeCommit: task.causeCommit,
    source: task.source,
    approval: approvalJson(task),
    ...(queued.queuePosition === undefined ? {} : { queuePosition: queued.queuePosition }),
    ...waitJson(queued.wait),
    ...(task.deliveryId === null ? {} : { deliveryId: task.deliveryId }),
    notBefore: timeJson(task.notBefore),
    createdAt: task.createdAt.toISOString(),
    startedAt: timeJson(task.startedAt),
    finishedAt: timeJson(task.finishedAt),
    waitedMs: waitedMs(task),
  };
}

function stepJson<S extends TaskStep>({ name, state, startedAt, finishedAt, exitCode }: S) {
  const times = { startedAt: timeJson(startedAt), finishedAt: timeJson(finishedAt) };
  return { name: name as S["name"], state, ...times, exitCode };
}

/** Why no runner can take it, as text and as parts. */
export function waitJson(wait: TaskWait | undefined): { waiting?: string; waitingParts?: Sentence[] } {
  return wait === undefined ? {} : reasonJson({ waiting: wait.reason });
}

/** Without what is pinned, which is long, and what only the server needs. */
function approvalJson({ approval }: Task) {
  if (approval === null) return null;
  const { pinned: _pinned, secretNames: _names, ...rest } = approval;
  const { expiresAfterMinutes: _minutes, earlierAttempts: _attempts, auditId: _audit, ...shown } = rest;
  return shown;
}

export type TaskJson = ReturnType<typeof taskJson>;

export function logLineJson(line: LogLine) {
  return {
    ...{ index: line.index, stage: line.stage, step: line.step },
    at: line.at.toISOString(),
    text: line.text,
  };
}
export type LogLineJson = ReturnType<typeof logLineJson>;

function timeJson(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}
