import type { TaskApproval } from "../../model/approval/task-approval.ts";
import { type Task, waitedMs } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";

/** For an approval that is requested again: the wait for the last answer is over. */
export function withoutAnswer(
  { startedAt }: Pick<Task, "startedAt">,
  approval: TaskApproval,
  now: Date,
): TaskApproval {
  const earlierWaitMs = waitedMs({ startedAt, approval, finishedAt: now });
  const { override: _override, ...request } = approval;
  return { ...request, earlierWaitMs, requestedAt: null, expiresAt: null, by: null, at: null, comment: "" };
}

/** What changes when the workspace of a task that needs an approval is ready. */
export function waitingSince(approval: TaskApproval, now: Date): Partial<Task> {
  const expiresAt = new Date(now.getTime() + approval.expiresAfterMinutes * 60_000);
  return {
    state: "waiting",
    reason: newReason("approval_waiting", { time: expiresAt.toISOString().slice(0, 16).replace("T", " ") }),
    approval: {
      ...approval,
      state: "waiting",
      requestedAt: now.toISOString(),
      expiresAt: expiresAt.toISOString(),
    },
    leaseHash: null,
    leaseUntil: null,
  };
}
