import { Fault } from "../../errors.ts";
import type { TaskApproval } from "../../model/approval/task-approval.ts";
import { entryOfTask, type NewAuditEntry } from "../../model/audit.ts";
import { isSideEffect } from "../../model/stage/stage-name.ts";
import { endStages } from "../../model/stage/task-stages.ts";
import { type OperationKeepers, operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { existing } from "../../revision.ts";
import { reportEnd, reportTask } from "../notify/report-task.ts";
import { appendSystemLine, type DecidedTask } from "../view/system-line.ts";
import { askedForSecrets } from "./added-secrets.ts";
import { approversOf } from "./approvers.ts";

export interface Answer {
  id: number;
  isApproved: boolean;
  isAdmin: boolean;
  comment: string;
  /** Names the user, and is stored with the answer. */
  audited: NewAuditEntry;
  consoleUrl: string;
}

/**
 * Approves or rejects a task that waits. What was approved is what was pinned, whatever the project says now. A task that
 * still waits afterwards was not approved: secrets were added, and the request was renewed.
 */
export const answerApproval = operation(
  "answerApproval",
  async (keepers, answer: Answer): Promise<DecidedTask> => {
    const { id, isApproved, isAdmin, comment, audited, consoleUrl } = answer;
    const { username } = audited;
    const task = existing(await keepers.tasks.byId(id), "task", id);
    const { approval } = task;
    if (task.state !== "waiting" || approval === null)
      throw new Fault("conflict", newReason("not_waiting", { id, state: task.state }));
    const now = keepers.now();
    const said = comment.replaceAll(/\s+/g, " ").trim();
    const asUser = { userId: audited.userId, isAdmin, said };
    const override: Override = isApproved ? await mayApprove(keepers, { ...task, approval }, asUser) : {};
    const answered = { ...approval, by: username, at: now.toISOString(), comment, ...override };
    const asked = isApproved ? await askedForSecrets(keepers, task) : null;
    if (asked !== null) {
      const again = await decide(keepers, task, consoleUrl, asked);
      if (again) return again;
    }
    const decided = isApproved
      ? await decide(keepers, task, consoleUrl, {
          state: "queued",
          reason: override.override
            ? newReason("approved_by_override", { user: username, comment: said })
            : answerText("approved", username, said),
          approval: { ...answered, state: "approved" },
          notBefore: null,
        })
      : await cancel(keepers, task, consoleUrl, {
          reason: answerText("rejected", username, said),
          approval: { ...answered, state: "rejected" },
        });
    if (!decided) throw new Fault("conflict", newReason("answered", { id }));
    const detail = { ref: task.ref, commit: task.commit, comment, ...override };
    await keepers.audit.add({ ...entryOfTask(audited, task), detail });
    return decided;
  },
);

function answerText(answer: "approved" | "rejected", user: string, comment: string): Reason {
  return comment === ""
    ? newReason(`${answer}_by`, { user })
    : newReason(`${answer}_by_with`, { user, comment });
}

/** Of a reason for an approval that the rule would leave to nobody. */
const minReason = 5;
const maxNames = 10;

type Override = Pick<TaskApproval, "override">;

/** Throws if the user may not approve the task. Returns whether it is an override. */
async function mayApprove(
  keepers: OperationKeepers,
  task: Task & { approval: TaskApproval },
  { userId, isAdmin, said }: { userId: number | null; isAdmin: boolean; said: string },
): Promise<Override> {
  const project = await keepers.projects.byId(task.projectId);
  if (!project) throw new Fault("not_found", newReason("project_gone"));
  const { may, excluded, needsReason } = await approversOf(keepers, task, project, { userId, isAdmin });
  if (needsReason) {
    if (!isAdmin) throw new Fault("forbidden", newReason("four_eyes_admin"));
    if (said.length < minReason) throw reasonMissing();
  } else {
    const own = excluded.find(({ id }) => id === userId);
    const names = may.slice(0, maxNames).map(({ username }) => username);
    const listed = [...names, ...(may.length > maxNames ? ["…"] : [])].join(", ");
    if (own) throw new Fault("forbidden", newReason("four_eyes", { because: own.because, names: listed }));
  }
  if (isExpired(task.approval, keepers.now()))
    throw new Fault("conflict", newReason("request_expired", { id: task.id }));
  const newer = await newerDeploy(keepers, task);
  if (newer !== null) throw new Fault("conflict", newReason("newer_deployed", { newer, id: task.id }));
  return needsReason ? { override: true } : {};
}

function reasonMissing(): Fault {
  const message = newReason("reason_needed", { min: minReason });
  return new Fault("invalid", newReason("four_eyes_reason", { fault: message }), {
    fields: [{ field: "comment", message }],
  });
}

/** Cancels requests that nobody answered in time, and those that a newer deploy has overtaken. */
export const endApprovals = operation(
  "endApprovals",
  async (keepers, { consoleUrl }: { consoleUrl: string }): Promise<DecidedTask[]> => {
    const now = keepers.now();
    const ended: (DecidedTask | null)[] = [];
    for (const task of await keepers.tasks.waiting()) {
      const { approval } = task;
      const newer = await newerDeploy(keepers, task);
      if (newer !== null) ended.push(await supersede(keepers, task, newer, consoleUrl));
      else if (approval !== null && isExpired(approval, now))
        ended.push(
          await cancel(keepers, task, consoleUrl, {
            reason: newReason("approval_expired"),
            approval: { ...approval, state: "expired" },
          }),
        );
    }
    return ended.filter((decided) => decided !== null);
  },
);

/** Cancels the requests that this task, which has ended, has overtaken. */
export async function supersedeWaiting(
  keepers: OperationKeepers,
  task: Task,
  consoleUrl: string,
): Promise<DecidedTask[]> {
  if (task.state !== "success" || !hasDeployed(task)) return [];
  const older = (await keepers.tasks.waiting(task.projectId)).filter(
    ({ id, ref }) => id < task.id && ref === task.ref,
  );
  const ended: (DecidedTask | null)[] = [];
  for (const waiting of older) ended.push(await supersede(keepers, waiting, task.id, consoleUrl));
  return ended.filter((decided) => decided !== null);
}

function supersede(
  keepers: OperationKeepers,
  task: Task,
  by: number,
  consoleUrl: string,
): Promise<DecidedTask | null> {
  const reason = newReason("superseded_by", { task: by });
  return cancel(keepers, task, consoleUrl, { reason, supersededBy: by });
}

function cancel(
  keepers: OperationKeepers,
  task: Task,
  consoleUrl: string,
  set: Partial<Task>,
): Promise<DecidedTask | null> {
  const finishedAt = keepers.now();
  const stages = endStages(task.stages, "canceled", finishedAt);
  return decide(keepers, task, consoleUrl, { state: "canceled", stages, finishedAt, ...set });
}

async function decide(
  keepers: OperationKeepers,
  { id }: Task,
  consoleUrl: string,
  set: Partial<Task>,
): Promise<DecidedTask | null> {
  const task = await keepers.tasks.change(id, { whileIn: ["waiting"], set });
  if (!task) return null;
  const line = await appendSystemLine(keepers, task, keepers.now());
  const calls =
    task.state === "waiting"
      ? await reportTask(keepers, "approval.requested", task, consoleUrl)
      : await reportEnd(keepers, task, consoleUrl);
  return { task, line, calls };
}

/** The live task, if it is newer and of the same ref. */
async function newerDeploy(keepers: OperationKeepers, task: Task): Promise<number | null> {
  const liveTaskId = (await keepers.projects.byId(task.projectId))?.liveTaskId ?? null;
  if (liveTaskId === null || liveTaskId <= task.id) return null;
  const live = await keepers.tasks.byId(liveTaskId);
  return live?.ref === task.ref && hasDeployed(live) ? liveTaskId : null;
}

function hasDeployed({ stages }: Task): boolean {
  return stages.some(({ name, state }) => isSideEffect(name) && state === "success");
}

function isExpired({ expiresAt }: TaskApproval, now: Date): boolean {
  return expiresAt !== null && new Date(expiresAt).getTime() <= now.getTime();
}
