import { Fault } from "../../errors.ts";
import type { TaskApproval } from "../../model/approval/task-approval.ts";
import { type OperationKeepers, operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { endStages, isSideEffect, resetStages } from "../queue/stages.ts";

interface Answer {
  id: number;
  isApproved: boolean;
  username: string;
  comment: string;
}

/** Approves or rejects a task that waits. What was approved is what was pinned, whatever the project says now. */
export const answerApproval = operation(
  "answerApproval",
  async (keepers, { id, isApproved, username, comment }: Answer): Promise<Task> => {
    const task = await keepers.tasks.byId(id);
    if (!task) throw new Fault("not_found", `There is no task ${id}.`);
    const { approval } = task;
    if (task.state !== "waiting" || approval === null)
      throw new Fault("conflict", `Task ${id} does not wait for an approval: it is ${task.state}.`);
    const now = keepers.now();
    const answered = { ...approval, by: username, at: now.toISOString(), comment };
    const said = comment === "" ? "" : `: ${comment}`;
    if (!isApproved)
      return (
        (await cancel(keepers, task, `rejected by ${username}${said}`, { ...answered, state: "rejected" })) ??
        task
      );
    const project = await keepers.projects.byId(task.projectId);
    if (!project) throw new Fault("not_found", "The project was deleted meanwhile.");
    const mayNot = approval.notByPusher || project.deploy.notByPusher;
    if (mayNot && pushersOf(task).includes(username.toLowerCase()))
      throw new Fault(
        "forbidden",
        "The person who pushed or started a task may not approve it (deploy.notByPusher); ask another manager.",
      );
    if (isExpired(approval, now))
      throw new Fault("conflict", `The request of task ${id} has expired; run the task again.`);
    const newer = await newerDeploy(keepers, task);
    if (newer !== null)
      throw new Fault("conflict", `Task ${newer} has deployed a newer commit; run task ${id} again.`);
    const approved = await keepers.tasks.change(id, {
      whileIn: ["waiting"],
      set: {
        state: "queued",
        reason: `approved by ${username}${said}`,
        approval: { ...answered, state: "approved" },
        stages: resetStages(task.stages),
        notBefore: null,
        startedAt: null,
      },
    });
    if (!approved) throw new Fault("conflict", `Task ${id} was answered by somebody else.`);
    return approved;
  },
);

/** Cancels requests that nobody answered in time, and those that a newer deploy has overtaken. */
export const endApprovals = operation("endApprovals", async (keepers, _: null): Promise<Task[]> => {
  const now = keepers.now();
  const { items } = await keepers.tasks.list({ state: "waiting" }, { page: 1, pageSize: maxWaiting });
  const ended: (Task | null)[] = [];
  for (const task of items) {
    const { approval } = task;
    if (approval === null) continue;
    const newer = await newerDeploy(keepers, task);
    if (newer !== null)
      ended.push(await cancel(keepers, task, `superseded by task ${newer}`, approval, newer));
    else if (isExpired(approval, now))
      ended.push(
        await cancel(keepers, task, "nobody approved it in time", { ...approval, state: "expired" }),
      );
  }
  return ended.filter((task) => task !== null);
});

const maxWaiting = 200;

function cancel(
  keepers: OperationKeepers,
  task: Task,
  reason: string,
  approval: TaskApproval,
  supersededBy: number | null = null,
): Promise<Task | null> {
  const now = keepers.now();
  const stages = endStages(task.stages, "canceled", now);
  const set = { state: "canceled", reason, approval, supersededBy, stages, finishedAt: now } as const;
  return keepers.tasks.change(task.id, { whileIn: ["waiting"], set });
}

/** The live task, if it is newer and of the same ref. */
async function newerDeploy(keepers: OperationKeepers, task: Task): Promise<number | null> {
  const liveTaskId = (await keepers.projects.byId(task.projectId))?.liveTaskId ?? null;
  if (liveTaskId === null || liveTaskId <= task.id) return null;
  const live = await keepers.tasks.byId(liveTaskId);
  const hasDeployed = live?.stages.some(({ name, state }) => isSideEffect(name) && state === "success");
  return hasDeployed && live?.ref === task.ref ? liveTaskId : null;
}

function isExpired({ expiresAt }: TaskApproval, now: Date): boolean {
  return expiresAt !== null && new Date(expiresAt).getTime() <= now.getTime();
}

/** Everybody whose work the task is: a repeat by another person does not hide who pushed. */
function pushersOf({ triggeredBy, author, source }: Task): string[] {
  return [triggeredBy, author, source?.pusher ?? ""].map((name) => name.toLowerCase());
}
