import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { RunningService } from "../../model/service/running-service.ts";
import type { TaskEvent } from "../../model/settings/notify-target.ts";
import type { Keepers } from "../../model/store.ts";
import type { LogLine, Task } from "../../model/task.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { Outbox } from "../notify/outbox.ts";
import { eventOfEnd } from "../notify/report-task.ts";
import { serviceJson } from "../view/service-json.ts";
import { spansOfTask, taskTraceFields } from "../view/task-trace.ts";
import type { Live } from "./console-messages.ts";
import type { AnnouncedTask, TaskAnnouncer } from "./task-announcer.ts";
import type { TaskMetrics } from "./task-metrics.ts";
import type { NoteWaiting } from "./waiting-note.ts";
import { queueTopic, taskTopic, type Wakeups } from "./wakeups.ts";

/**
 * Informs runners, browsers and metrics of a change of a task that is on disk. A crash may lose that; notifications and
 * commit statuses are therefore stored with the change, and `send` makes their first attempt.
 */
export interface TaskEvents extends TaskAnnouncer {
  /** For the console and for waiting callers only. */
  changed(task: Task): void;
  started(task: Task): void;
  /** A task of the tip of its ref now knows its commit. */
  resolved(task: Task): void;
  /** It is built, and waits for an approval. */
  waiting(task: Task): void;
  /** To success, failed, canceled, timeout or lost. */
  finished(task: Task): void;
  /** Its runner vanished before it had done anything that matters. */
  requeued(task: Task): void;
  logged(task: Task, lines: LogLine[]): void;
  /** The state of a service of the project has changed. */
  services(projectId: number, services: readonly RunningService[], now: Date): void;
  /** Resolves when all live messages are sent. */
  flushed(): Promise<void>;
}

export interface TaskEventsParts {
  keepers: Pick<Keepers, "projects" | "permissions">;
  wakeups: Wakeups;
  live: Live;
  outbox: Pick<Outbox, "send">;
  metrics: TaskMetrics;
  noteWaiting: NoteWaiting;
  consoleUrl: () => string;
  telemetry: Telemetry;
  log: Logger;
}

export function buildTaskEvents(parts: TaskEventsParts): TaskEvents {
  const { wakeups, live, metrics, keepers, outbox, consoleUrl, telemetry } = parts;
  const isDebug = parts.log.isLevelEnabled("debug");
  const running = new Set<Promise<void>>();

  function later(task: Task, event: string, work: () => Promise<void>): void {
    const done = work()
      .catch((error: unknown) =>
        parts.log.error(
          { taskId: task.id, event, error: messageOf(error), ...taskTraceFields(task) },
          "a task event was not announced",
        ),
      )
      .finally(() => running.delete(done));
    running.add(done);
  }

  /** The connections of those who may approve the deploy. */
  async function tellManagers(task: Task): Promise<void> {
    const project = await keepers.projects.byId(task.projectId);
    if (!project) return;
    const managers = await keepers.permissions.managersOfProject(project.id);
    live.approval(
      task,
      project.name,
      managers.map(({ id }) => id),
    );
  }

  async function noteWaiting(task: Task, known: AnnouncedTask["project"] | null): Promise<void> {
    const project = known ?? (await keepers.projects.byId(task.projectId));
    const line = project && (await parts.noteWaiting(task, project));
    if (line) live.log(task, [line]);
  }

  function queued(task: Task, project: AnnouncedTask["project"] | null): void {
    note("a task is queued", task);
    live.task("task.queued", task);
    if (task.serviceAction === null) later(task, "task.queued", () => noteWaiting(task, project));
    wakeups.notify(queueTopic);
  }

  function note(event: string, task: Task): void {
    if (!isDebug) return;
    const { id: taskId, projectId, state } = task;
    parts.log.debug({ taskId, projectId, state, ...taskTraceFields(task) }, event);
  }

  function finished(task: Task): void {
    metrics.finished(task);
    note("a task has ended", task);
    if (telemetry.isOn) for (const span of spansOfTask(task)) telemetry.record(span);
    wakeups.notify(taskTopic(task.id));
    wakeups.notify(queueTopic);
    const event: TaskEvent | undefined = eventOfEnd[task.state];
    if (event) live.task(event, task);
  }

  function changed(task: Task): void {
    live.task("task.changed", task);
    wakeups.notify(taskTopic(task.id));
    if (task.state === "queued") wakeups.notify(queueTopic);
  }

  return {
    consoleUrl,
    send: (calls) => outbox.send(calls),
    enqueued({ task, superseded, project }) {
      queued(task, project);
      for (const older of superseded) {
        if (older.state === "canceled") finished(older);
        else changed(older);
      }
    },
    changed,
    moved: changed,
    started(task) {
      metrics.started(task);
      note("a task has started", task);
      live.task("task.started", task);
    },
    resolved: (task) => live.task("task.changed", task),
    waiting(task) {
      changed(task);
      wakeups.notify(queueTopic);
      later(task, "approval.requested", () => tellManagers(task));
    },
    finished,
    requeued(task) {
      metrics.leaseLost();
      queued(task, null);
      wakeups.notify(taskTopic(task.id));
    },
    logged: (task, lines) => live.log(task, lines),
    services: (projectId, services, now) =>
      live.services(
        projectId,
        services.map((service) => serviceJson(service, now)),
      ),
    async flushed() {
      await Promise.all(running);
      await live.flushed();
    },
  };
}
