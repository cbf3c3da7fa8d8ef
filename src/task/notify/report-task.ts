import type { StatusState } from "../../git-host/status/status-api.ts";
import { ownerIdOf } from "../../model/environment/environment.ts";
import type { AddedCall, NewOutgoingCall } from "../../model/outgoing-call.ts";
import type { Project } from "../../model/project.ts";
import { reservedSecrets } from "../../model/sealed.ts";
import type { TaskEvent } from "../../model/settings/notify-target.ts";
import type { OperationKeepers } from "../../model/store.ts";
import type { Task, TaskState } from "../../model/task.ts";
import type { ProjectWebhook } from "../../model/webhook-config.ts";
import { taskTraceparent } from "../view/task-trace.ts";
import { commitStatusCall } from "./commit-status.ts";
import { taskNotifications } from "./notifications.ts";
import { storeCalls } from "./store-calls.ts";

/*
 * Notifications and commit statuses of a task. They are stored in the transaction of the change that they report: a
 * crash after it loses none.
 */

export type ReportKeepers = Pick<
  OperationKeepers,
  "projects" | "webhookConfigs" | "tasks" | "outgoingCalls" | "meta" | "now"
>;

/** What the caller has read already. */
export type KnownProject = Pick<ProjectWebhook, "project"> &
  Partial<Pick<ProjectWebhook, "hasStatusToken" | "defaultTarget">>;

/** The event of each final state. */
export const eventOfEnd: Partial<Record<TaskState, TaskEvent>> = {
  success: "task.succeeded",
  failed: "task.failed",
  canceled: "task.canceled",
  timeout: "task.timeout",
  lost: "task.lost",
};

/** Reports an event of a task. `status`: the commit gets its status, and nobody is notified. */
export async function reportTask(
  keepers: ReportKeepers,
  event: TaskEvent | "approval.requested" | "status",
  task: Task,
  consoleUrl: string,
  known?: KnownProject,
): Promise<AddedCall[]> {
  // A person who stops a service knows it, and the commit is neither better nor worse.
  if (task.serviceAction !== null) return [];
  const project = known?.project ?? (await keepers.projects.byId(task.projectId));
  if (!project) return [];
  const context = { now: keepers.now(), consoleUrl };
  const notifications =
    event === "status"
      ? []
      : await taskNotifications(
          keepers,
          event,
          task,
          { project, defaultTarget: known?.defaultTarget },
          context,
        );
  const status = await statusOf(keepers, task, project, consoleUrl, known?.hasStatusToken);
  return storeCalls(keepers, [...notifications, ...status], taskTraceparent(task));
}

/** Reports the final state of a task. */
export async function reportEnd(
  keepers: ReportKeepers,
  task: Task,
  consoleUrl: string,
  known?: KnownProject,
): Promise<AddedCall[]> {
  const event = eventOfEnd[task.state];
  return event === undefined ? [] : reportTask(keepers, event, task, consoleUrl, known);
}

/** Reports a new task. The tasks that it supersedes come first: they may be of the same commit. */
export async function reportEnqueued(
  keepers: ReportKeepers,
  { task, superseded }: { task: Task; superseded: Task[] },
  consoleUrl: string,
  known: KnownProject,
): Promise<AddedCall[]> {
  const calls: AddedCall[] = [];
  for (const older of superseded) calls.push(...(await reportEnd(keepers, older, consoleUrl, known)));
  return [...calls, ...(await reportTask(keepers, "task.queued", task, consoleUrl, known))];
}

/**
 * Reports that a queued task builds another commit now. It does not build the earlier one, which is not an error;
 * nothing else would ever end the status of that commit.
 */
export async function reportMoved(
  keepers: ReportKeepers,
  { task, from }: { task: Task; from: Task },
  consoleUrl: string,
  { project, hasStatusToken }: KnownProject,
): Promise<AddedCall[]> {
  if (task.commit === from.commit) return [];
  const reason = `Not built: task ${task.id} took a later push instead.`;
  const replaced = { ...from, state: "replaced" as const, reason };
  const calls: NewOutgoingCall[] = [];
  for (const reported of [replaced, task])
    calls.push(...(await statusOf(keepers, reported, project, consoleUrl, hasStatusToken)));
  return storeCalls(keepers, calls, taskTraceparent(task));
}

async function statusOf(
  keepers: Pick<OperationKeepers, "projects" | "webhookConfigs">,
  task: Pick<Task, "id" | "commit" | "reason"> & { state: StatusState },
  project: Project,
  consoleUrl: string,
  isTokenKnown?: boolean,
): Promise<NewOutgoingCall[]> {
  if (!(isTokenKnown ?? (await hasStatusToken(keepers, ownerIdOf(project))))) return [];
  const provider = (await keepers.webhookConfigs.ofProject(ownerIdOf(project)))?.provider ?? "generic";
  const call = commitStatusCall(task, project, provider, `${consoleUrl}/tasks/${task.id}`);
  return call === null ? [] : [call];
}

/** Whether a project has a token for commit statuses. */
export async function hasStatusToken(
  { projects }: Pick<OperationKeepers, "projects">,
  projectId: number,
): Promise<boolean> {
  const names = await projects.secretNames([projectId]);
  return names.some(({ name }) => name === reservedSecrets.status);
}
