import { isSideEffect } from "../model/stage/stage-name.ts";
import {
  endStages,
  hasSideEffects,
  resetStages,
  runningTitle,
  setStage,
} from "../model/stage/task-stages.ts";
import type { Task } from "../model/task.ts";
import { inOrder, newReason, type Reason } from "../reason/reason.ts";
import type { FinishRequest, StageRequest } from "../runner/protocol.ts";
import { askedAgain, builtAgain } from "./approval/request-approval.ts";
import { waitingSince } from "./approval/waiting-since.ts";
import { rollbackText } from "./release/record-release.ts";

/*
 * What becomes of a task when something happens to it: functions of the task alone. The verbs of queue.ts store the results.
 */

/** The first attempt and one repeat. */
const maxAttempts = 2;

/** Whether the runner must stop. It continues a deploy that began while another instance created the superseding task. */
export function mustStop({ state, supersededBy, stages }: Task): boolean {
  return state === "canceling" && !(supersededBy !== null && hasSideEffects(stages));
}

/** Neither started nor touched: the task is as it was before the claim, and its runner has it no more. */
export function asUnclaimed({ attempt, serviceAction, approval, runnerId }: Task): Partial<Task> {
  return {
    state: "queued",
    attempt: attempt - 1,
    leaseHash: null,
    leaseUntil: null,
    runnerId: serviceAction === null ? (approval?.built?.runnerId ?? null) : runnerId,
  };
}

export type StageReport = Omit<StageRequest, "taskId" | "attempt" | "lease">;

export function afterStage(before: Task, report: StageReport, now: Date): Partial<Task> {
  const { stage, state, commit, message } = report;
  // Actions with services are no deploys.
  const begins = before.serviceAction === null && before.deployingSince === null;
  return {
    stages: setStage(before.stages, report, now),
    ...(before.state === "dispatched" ? { state: "running" } : {}),
    ...(before.startedAt === null ? { startedAt: now } : {}),
    ...(begins && state === "running" && isSideEffect(stage) ? { deployingSince: now } : {}),
    ...(stage === "checkout" ? { fetchingSince: state === "running" ? now : null } : {}),
    ...(commit ? { commit } : {}),
    // Whoever asked without a commit cannot know the message of the one that was checked out.
    ...(message && (before.commit === null || before.message === "") ? { message } : {}),
  };
}

/** How the runner says that the attempt has ended. */
export interface Ending {
  state: FinishRequest["state"];
  reason: Reason;
  isWorkspaceLost: boolean;
}

/** What the end of an attempt means for a deploy that needs an approval; null: it ends as every task. */
export function approvalStep(
  before: Task,
  { state, isWorkspaceLost }: Omit<Ending, "reason">,
  now: Date,
): Partial<Task> | null {
  const { approval, attempt, runnerId } = before;
  const isBuilt = state === "success" && approval?.state === "building";
  const isLost = isWorkspaceLost && approval?.state === "approved";
  if (approval === null || runnerId === null || !(isBuilt || isLost)) return null;
  if (before.state === "canceling") return ended(before, "canceled", now);
  const next = { ...approval, earlierAttempts: attempt };
  if (isBuilt) return waitingSince({ ...next, built: { taskId: before.id, attempt, runnerId } }, now);
  return {
    ...builtAgain(before, next, now),
    state: "queued",
    reason: inOrder(newReason("approval_build_gone"), askedAgain),
    leaseHash: null,
    leaseUntil: null,
    runnerId: null,
  };
}

export function afterFinish(before: Task, { state, reason }: Ending, now: Date): Partial<Task> {
  // A cancel keeps its own reason: the person who canceled, or the superseding task.
  const given = state === "canceled" && before.reason ? before.reason : reason;
  return {
    ...ended(before, state, now),
    reason: before.state === "canceling" && state === "success" ? "" : withRollback(before, given),
    startedAt: before.startedAt ?? now,
  };
}

/** The outcome comes first: a commit status shows little more. */
function withRollback(task: Task, reason: Reason): Reason {
  return task.rollback ? inOrder(rollbackText(task, task.rollback), reason) : reason;
}

/**
 * Before deploy the task is repeated. Later the state is unknown, and a second deploy could make it worse. `isStuck`: its runner
 * calls, but does not end the task.
 */
export function afterLostLease(task: Task, isStuck: boolean, now: Date): Partial<Task> {
  return { leaseHash: null, leaseUntil: null, ...verdict(task, isStuck, now) };
}

function verdict(task: Task, isStuck: boolean, now: Date): Partial<Task> {
  // What a move has left behind must end, and may be ended twice.
  const isLeave = task.serviceAction?.type === "leave";
  const isTouched = !isLeave && hasSideEffects(task.stages);
  if (task.state === "canceling" && !isTouched)
    return { ...ended(task, "canceled", now), reason: task.reason || newReason("canceled") };
  if (isStuck)
    return { ...ended(task, isTouched ? "lost" : "timeout", now), reason: newReason("runner_stuck") };
  const { built = null, earlierAttempts = built?.attempt ?? 0 } = task.approval ?? {};
  // Services were stopped for it: it must not wait for a runner that may never come back.
  const mayWait = !task.move?.stopTaskId;
  if (!isTouched && mayWait && (isLeave || task.attempt - earlierAttempts < maxAttempts))
    return {
      state: "queued",
      reason: newReason("runner_vanished_queued"),
      ...(built ? { runnerId: built.runnerId } : fromTheStart(task)),
    };
  const during = runningTitle(task.stages) ?? "the task";
  return {
    ...ended(task, "lost", now),
    reason:
      isTouched || !mayWait
        ? newReason("runner_vanished_during", { stage: during })
        : newReason("runner_vanished_twice"),
  };
}

function fromTheStart({ stages, serviceAction, approval }: Task): Partial<Task> {
  return {
    stages: resetStages(stages),
    // An action stays with the runner that has the services.
    ...(serviceAction === null ? { runnerId: null } : {}),
    startedAt: null,
    approval: approval && { ...approval, earlierWaitMs: 0 },
  };
}

/** The task has ended in this state, and no runner has it. */
export function ended(
  { stages }: Pick<Task, "stages">,
  state: Parameters<typeof endStages>[1],
  now: Date,
): Partial<Task> {
  return { state, stages: endStages(stages, state, now), leaseUntil: null, finishedAt: now };
}
