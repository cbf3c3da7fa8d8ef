import type { AddedCall } from "../../model/outgoing-call.ts";
import { type OperationKeepers, operation } from "../../model/store.ts";
import type { LogLine, Task } from "../../model/task.ts";
import { inOrder, newReason, type Reason } from "../../reason/reason.ts";
import type { FinishRequest } from "../../runner/protocol.ts";
import { supersedeWaiting } from "../approval/answer-approval.ts";
import { askedAgain, builtAgain } from "../approval/request-approval.ts";
import { waitingSince } from "../approval/waiting-since.ts";
import { reportEnd, reportTask } from "../notify/report-task.ts";
import { endStages, hasSideEffects } from "../queue/stages.ts";
import { appendSystemLine, type DecidedTask } from "../queue/system-line.ts";
import { noteEnd, rollbackText } from "../release/record-release.ts";
import { type HeldLease, renew } from "./lease.ts";

interface Ending {
  held: HeldLease;
  state: FinishRequest["state"];
  reason: Reason;
  kept: FinishRequest["kept"];
  images?: FinishRequest["images"];
  isWorkspaceLost: boolean;
  consoleUrl: string;
}

interface Finished {
  task: Task;
  /** Why the server decided something else than the runner reported; null: it did not. */
  line: LogLine | null;
  /** Requests for approval that the deploy has overtaken. */
  superseded: DecidedTask[];
  /** What was stored for people and the Git host about this task. */
  calls: AddedCall[];
}

/** Ends a task with the result of its runner. Null: the runner no longer holds the task. */
export const finishTask = operation(
  "finishTask",
  async (keepers, ending: Ending): Promise<Finished | null> => {
    const { held, state, reason, kept, images, isWorkspaceLost, consoleUrl } = ending;
    const before = await renew(keepers, held);
    if (!before) return null;
    const now = keepers.now();
    const set = approvalStep(before, { state, isWorkspaceLost }, now);
    if (set !== null) {
      const task = await keepers.tasks.change(before.id, { whileIn: [before.state], set });
      if (!task) return null;
      if (kept) await keepers.releases.keepOnly(task.projectId, held.runnerId, kept);
      const line = await appendSystemLine(keepers, task, now);
      return { task, line, superseded: [], calls: await reportStep(keepers, task, consoleUrl) };
    }
    // A cancel keeps its own reason: the person who canceled, or the superseding task.
    const given = state === "canceled" && before.reason ? before.reason : reason;
    const task = await keepers.tasks.change(before.id, {
      whileIn: [before.state],
      set: {
        state,
        reason: before.state === "canceling" && state === "success" ? "" : withRollback(before, given),
        stages: endStages(before.stages, state, now),
        leaseUntil: null,
        startedAt: before.startedAt ?? now,
        finishedAt: now,
      },
    });
    if (!task) return null;
    await noteEnd(keepers, task, { isTouched: hasSideEffects(before.stages), kept, images }, now);
    const superseded = task.serviceAction === null ? await supersedeWaiting(keepers, task, consoleUrl) : [];
    return { task, line: null, superseded, calls: await reportEnd(keepers, task, consoleUrl) };
  },
);

/** Reports a task that waits for its approval, or that was canceled instead; not a task that is built again. */
async function reportStep(keepers: OperationKeepers, task: Task, consoleUrl: string): Promise<AddedCall[]> {
  return task.state === "waiting"
    ? reportTask(keepers, "approval.requested", task, consoleUrl)
    : reportEnd(keepers, task, consoleUrl);
}

/** What the end of an attempt means for a deploy that needs an approval; null: it ends as every task. */
function approvalStep(
  before: Task,
  { state, isWorkspaceLost }: Pick<Ending, "state" | "isWorkspaceLost">,
  now: Date,
): Partial<Task> | null {
  const { approval, attempt, runnerId } = before;
  const isBuilt = state === "success" && approval?.state === "building";
  const isLost = isWorkspaceLost && approval?.state === "approved";
  if (approval === null || runnerId === null || !(isBuilt || isLost)) return null;
  if (before.state === "canceling") {
    const stages = endStages(before.stages, "canceled", now);
    return { state: "canceled", stages, leaseUntil: null, finishedAt: now };
  }
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

/** The outcome comes first: a commit status shows little more. */
function withRollback(task: Task, reason: Reason): Reason {
  return task.rollback ? inOrder(rollbackText(task, task.rollback), reason) : reason;
}
