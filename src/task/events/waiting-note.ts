import type { Logger } from "../../logger.ts";
import { operation, type Store } from "../../model/store.ts";
import type { LogLine, Task } from "../../model/task.ts";
import { renderReason } from "../../reason/reason.ts";
import { appendSystemLine } from "../view/system-line.ts";
import { taskTraceFields } from "../view/task-trace.ts";
import type { WaitOf } from "../view/wait-cache.ts";
import type { AnnouncedTask } from "./task-announcer.ts";

/** Writes to the task's log and the server's log why no runner can take a queued task. */
export type NoteWaiting = (task: Task, project: AnnouncedTask["project"]) => Promise<LogLine | null>;

export interface WaitingNoteParts {
  store: Pick<Store, "run">;
  waitOf: WaitOf;
  log: Logger;
}

/** A reason that delays every task of a project is logged this often. */
const loggedEveryMs = 60_000;
/** Number of projects whose reason is cached; above it the cache is cleared. */
const maxProjects = 10_000;

export function buildWaitingNote({ store, waitOf, log }: WaitingNoteParts): NoteWaiting {
  const logged = new Map<number, { text: string; untilMs: number }>();

  function warn(task: Task, project: AnnouncedTask["project"], text: string): void {
    const last = logged.get(project.id);
    const nowMs = performance.now();
    if (last?.text === text && nowMs < last.untilMs) return;
    if (logged.size >= maxProjects) logged.clear();
    logged.set(project.id, { text, untilMs: nowMs + loggedEveryMs });
    const about = { taskId: task.id, projectId: project.id, project: project.name };
    log.warn({ ...about, ...taskTraceFields(task) }, text);
  }

  return async (task, project) => {
    const wait = await waitOf(project.id);
    if (wait === null) return null;
    const text = renderReason(wait.reason);
    warn(task, project, text);
    if (!wait.isLasting) return null;
    return store.run(noteLastingWait, { taskId: task.id, text });
  };
}

/**
 * Writes to the log of a queued task why no runner can take it. A runner that takes the task meanwhile numbers its
 * lines from the end of the log; then no line is added.
 */
export const noteLastingWait = operation(
  "noteLastingWait",
  async (keepers, { taskId, text }: { taskId: number; text: string }): Promise<LogLine | null> => {
    const queued = await keepers.tasks.change(taskId, { whileIn: ["queued"], set: { state: "queued" } });
    return queued && appendSystemLine(keepers, { id: taskId, reason: text }, keepers.now());
  },
);
