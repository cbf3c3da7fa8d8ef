import { Fault, messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { TaskEvent } from "../../model/project.ts";
import type { Keepers } from "../../model/store.ts";
import type { LogLine, Task, TaskState } from "../../model/task.ts";
import { commitStatusCall } from "../notify/commit-status.ts";
import type { Notifier } from "../notify/notifier.ts";
import type { Outbox } from "../notify/outbox.ts";
import type { StatusState } from "../notify/status-hosts.ts";
import type { HasStatusToken } from "../notify/status-tokens.ts";
import type { Enqueued, TaskAnnouncer } from "../queue/queue.ts";
import type { Live } from "./live.ts";
import type { TaskMetrics } from "./task-metrics.ts";
import type { NoteWaiting } from "./waiting-note.ts";
import { queueTopic, taskTopic, type Wakeups } from "./wakeups.ts";

/** Notifies all subscribers of task events: runners, browsers, people, Git hosts, metrics. */
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
  /** Resolves when all notifications are stored or sent. */
  flushed(): Promise<void>;
}

export interface TaskEventsParts {
  keepers: Pick<Keepers, "projects" | "webhookConfigs" | "permissions">;
  hasStatusToken: HasStatusToken;
  wakeups: Wakeups;
  live: Live;
  notifier: Notifier;
  outbox: Outbox;
  metrics: TaskMetrics;
  noteWaiting: NoteWaiting;
  consoleUrl: () => string;
  log: Log;
}

type KnownProject = Pick<Enqueued, "project" | "hasStatusToken">;

const endings: Partial<Record<TaskState, TaskEvent>> = {
  success: "task.succeeded",
  failed: "task.failed",
  canceled: "task.canceled",
  timeout: "task.timeout",
  lost: "task.lost",
};

const retryAfterMs = [250, 500, 1_000, 2_000, 4_000, 8_000];

/** Repeats work that reads the database: a database that restarts must not cost an event. */
async function untilAvailable<T>(work: () => Promise<T>): Promise<T> {
  for (const waitMs of retryAfterMs) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Fault && error.code === "unavailable")) throw error;
      await Bun.sleep(waitMs);
    }
  }
  return work();
}

export function buildTaskEvents(parts: TaskEventsParts): TaskEvents {
  const { wakeups, live, metrics, keepers } = parts;
  /** The last event of each project in progress: events of a project are sent in order. */
  const telling = new Map<number, Promise<void>>();

  function tell(event: TaskEvent | "task.changed", task: Task, known?: KnownProject): void {
    live.task(event, task);
    tellLater(event, task, known);
  }

  function tellLater(
    event: TaskEvent | "task.changed" | "approval.requested",
    task: Task,
    known?: KnownProject,
  ): void {
    later(task, event, () => tellOutside(event, task, known));
  }

  function later(task: Task, event: string, work: () => Promise<void>): void {
    const before = telling.get(task.projectId) ?? Promise.resolve();
    const told = before
      .then(work)
      .catch((error: unknown) =>
        parts.log.error({ taskId: task.id, event, error: messageOf(error) }, "a task event was not told"),
      )
      .finally(() => {
        if (telling.get(task.projectId) === told) telling.delete(task.projectId);
      });
    telling.set(task.projectId, told);
  }

  async function tellOutside(
    event: TaskEvent | "task.changed" | "approval.requested",
    task: Task,
    known?: KnownProject,
  ): Promise<void> {
    const project = known?.project ?? (await untilAvailable(() => keepers.projects.byId(task.projectId)));
    if (!project) return;
    if (event !== "task.changed") await notify(event, task, project);
    if (event === "task.queued") await noteWaiting(task, project);
    await untilAvailable(() => report(task, project, known?.hasStatusToken));
  }

  /** The connections of those who may approve the deploy. */
  async function tellManagers(task: Task): Promise<void> {
    const project = await keepers.projects.byId(task.projectId);
    if (!project) return;
    live.approval(task, project.name, await keepers.permissions.managersOfProject(project.id));
  }

  /** A failed notification must not prevent the commit status. */
  async function notify(
    event: TaskEvent | "approval.requested",
    task: Task,
    project: Enqueued["project"],
  ): Promise<void> {
    try {
      await untilAvailable(() => parts.notifier.tell(event, task, project));
    } catch (error) {
      parts.log.error({ taskId: task.id, event, error: messageOf(error) }, "a task event was not notified");
    }
  }

  /** Reports the commit's status to the Git host. */
  async function report(
    task: Pick<Task, "id" | "commit" | "reason"> & { state: StatusState },
    project: Enqueued["project"],
    isTokenKnown?: boolean,
  ): Promise<void> {
    if (!(isTokenKnown ?? (await parts.hasStatusToken(project.id)))) return;
    const provider = (await keepers.webhookConfigs.ofProject(project.id))?.provider ?? "generic";
    const taskUrl = `${parts.consoleUrl()}/tasks/${task.id}`;
    const call = commitStatusCall(task, project, provider, taskUrl);
    if (call) parts.outbox.send(call);
  }

  async function noteWaiting(task: Task, project: Enqueued["project"]): Promise<void> {
    const line = await parts.noteWaiting(task, project);
    if (line) live.log(task, [line]);
  }

  function finished(task: Task): void {
    metrics.finished(task);
    wakeups.notify(taskTopic(task.id));
    wakeups.notify(queueTopic);
    const event = endings[task.state];
    if (event) tell(event, task);
  }

  function changed(task: Task): void {
    live.task("task.changed", task);
    wakeups.notify(taskTopic(task.id));
    if (task.state === "queued") wakeups.notify(queueTopic);
  }

  return {
    enqueued({ task, superseded, ...known }) {
      tell("task.queued", task, known);
      for (const older of superseded) {
        if (older.state === "canceled") finished(older);
        else changed(older);
      }
      wakeups.notify(queueTopic);
    },
    changed,
    moved(task, from) {
      changed(task);
      if (task.commit === from.commit) return;
      // This task does not build the commit, which is not an error; nothing else would ever end the commit's status.
      const reason = `Not built: task ${task.id} took a later push instead.`;
      later(from, "task.changed", async () => {
        const project = await keepers.projects.byId(from.projectId);
        if (project) await report({ ...from, state: "replaced", reason }, project);
      });
      tellLater("task.changed", task);
    },
    started(task) {
      metrics.started(task);
      tell("task.started", task);
    },
    // Nobody is notified, but the commit gets its status.
    resolved: (task) => tell("task.changed", task),
    waiting(task) {
      changed(task);
      wakeups.notify(queueTopic);
      later(task, "approval.requested", () => tellManagers(task));
      tellLater("approval.requested", task);
    },
    finished,
    requeued(task) {
      metrics.leaseLost();
      tell("task.queued", task);
      wakeups.notify(taskTopic(task.id));
      wakeups.notify(queueTopic);
    },
    logged: (task, lines) => live.log(task, lines),
    async flushed() {
      await Promise.all(telling.values());
      await live.flushed();
    },
  };
}
