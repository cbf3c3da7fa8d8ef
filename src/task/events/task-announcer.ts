import type { AddedCall } from "../../model/outgoing-call.ts";
import type { Project } from "../../model/project.ts";
import type { Task } from "../../model/task.ts";

/** What is announced of a new task. */
export interface AnnouncedTask {
  task: Task;
  /** Older tasks of the same ref that were superseded: canceled (they were queued) or canceling (they run). */
  superseded: Task[];
  project: Pick<Project, "id" | "name">;
}

/** Notifies runners, browsers and people of a committed transaction. */
export interface TaskAnnouncer {
  enqueued(enqueued: AnnouncedTask): void;
  /** A queued task was moved to another ref or commit. */
  moved(task: Task): void;
  /** Sends notifications and commit statuses that were stored in the transaction. */
  send(calls: readonly AddedCall[]): void;
  /** Address of the console, for the links of messages. Operations that store messages get it as data. */
  consoleUrl(): string;
}
