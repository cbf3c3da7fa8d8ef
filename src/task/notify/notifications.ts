import { ownerIdOf } from "../../model/environment/environment.ts";
import type { NewOutgoingCall } from "../../model/outgoing-call.ts";
import type { Project } from "../../model/project.ts";
import type { NotifyTarget, OptionalEvent, TaskEvent } from "../../model/settings/notify-target.ts";
import type { Keepers } from "../../model/store.ts";
import { isFinished, type LogLine, type Task } from "../../model/task.ts";
import { randomToken } from "../../secrets.ts";
import { chatBodies } from "./chat-formats.ts";
import { oneLine } from "./chat-text.ts";
import { defaultTargetFor } from "./default-target.ts";
import { type LiveTask, type Notice, taskNotice } from "./notice.ts";

/** When a message is written, and the address of the console for its links. */
export interface MessageContext {
  now: Date;
  consoleUrl: string;
}

const optionalEvents: readonly string[] = [
  "approval.requested",
  "delivery.rejected",
  "delivery.failed",
  "runner.gone",
  "service.down",
  "service.up",
] satisfies OptionalEvent[];

/** The targets that receive an event: those of the project, and the default one if the project has it. */
export function targetsOf(
  { notify, defaultNotify }: Pick<Project, "notify" | "defaultNotify">,
  event: Notice["event"],
  defaultTarget: NotifyTarget | null,
): NotifyTarget[] {
  const targets = defaultNotify && defaultTarget !== null ? [...notify, defaultTarget] : notify;
  return targets.filter(({ events }) =>
    events.length === 0 ? !optionalEvents.includes(event) : events.some((named) => named === event),
  );
}

/** The calls that send a notice to these targets. */
export function notificationCalls(
  notice: Notice,
  project: Project,
  targets: NotifyTarget[],
  context: MessageContext,
): NewOutgoingCall[] {
  return targets
    .filter(({ format }) => format !== "push" || notice.pushed)
    .map((target) => notificationCall(notice, project, target, context));
}

/** The calls that report an event of a task. */
export async function taskNotifications(
  { tasks, meta }: Pick<Keepers, "tasks" | "meta">,
  event: TaskEvent | "approval.requested",
  task: Task,
  { project, defaultTarget }: { project: Project; defaultTarget: string | null | undefined },
  context: MessageContext,
): Promise<NewOutgoingCall[]> {
  const targets = targetsOf(project, event, await defaultTargetFor(meta, project, defaultTarget));
  if (targets.length === 0) return [];
  const log = await endOfLog(tasks, task, Math.max(...targets.map(({ logLines }) => logLines)));
  const notice = taskNotice(event, task, project, await liveTaskOf(tasks, project, task), log);
  return notificationCalls(notice, project, targets, context);
}

type TaskReader = Pick<Keepers["tasks"], "byId" | "log" | "nextLogIndex">;

async function liveTaskOf(tasks: TaskReader, { liveTaskId }: Project, task: Task): Promise<LiveTask | null> {
  if (liveTaskId === null) return null;
  const live = liveTaskId === task.id ? task : await tasks.byId(liveTaskId);
  return { id: liveTaskId, commit: live?.commit ?? null };
}

async function endOfLog(tasks: TaskReader, task: Task, lines: number): Promise<LogLine[]> {
  if (lines === 0 || !isFinished(task.state)) return [];
  const next = await tasks.nextLogIndex(task.id);
  return tasks.log(task.id, Math.max(0, next - lines), lines);
}

const maxLogLine = 300;
/** Records of attempts name a host. */
const ownGateway = "push://gateway";

/** The call that sends a notice to one target. */
export function notificationCall(
  notice: Notice,
  project: Pick<Project, "id" | "parentId">,
  target: NotifyTarget,
  { now, consoleUrl }: MessageContext,
): NewOutgoingCall {
  const link = `${consoleUrl}${notice.page}`;
  const lines = target.logLines === 0 ? [] : notice.log.slice(-target.logLines).map(({ text }) => text);
  const { format } = target;
  const bodyOf = () => {
    if (format === "push") return notice.pushed;
    if (format !== "slipway")
      return chatBodies[format]({
        ...notice,
        link,
        logLines: lines.map((line) => oneLine(line, maxLogLine)),
      });
    const data = { ...notice.data, url: link, ...(target.logLines === 0 ? {} : { logLines: lines }) };
    return { type: notice.event, timestamp: now.toISOString(), data };
  };
  return {
    projectId: ownerIdOf(project),
    kind: "notification",
    event: notice.event,
    subject: null,
    // The shortened form of an address begins with its origin.
    url: format === "push" ? ownGateway : new URL(target.url).origin,
    targetId: target.id,
    messageId: `msg_${randomToken(18)}`,
    proof: format === "slipway" ? "signature" : format,
    body: JSON.stringify(bodyOf()),
  };
}
