import type { Log } from "../../log.ts";
import type { Project } from "../../model/project.ts";
import type { Store } from "../../model/store.ts";
import type { LogLine, Task } from "../../model/task.ts";
import { appendSystemLine } from "../queue/system-line.ts";
import type { WaitingOf } from "../queue/waiting.ts";

/** Writes to the task's log and the server's log why no runner can take a queued task. */
export type NoteWaiting = (task: Task, project: Project) => Promise<LogLine | null>;

export interface WaitingNoteParts {
  store: Pick<Store, "transaction" | "now" | "runners" | "groups">;
  waitingOf: WaitingOf;
  log: Log;
}

export function buildWaitingNote({ store, waitingOf, log }: WaitingNoteParts): NoteWaiting {
  return async (task, project) => {
    const now = await store.now();
    const waiting = await waitingOf(store, project, now);
    if (waiting === null) return null;
    log.warn({ taskId: task.id, projectId: project.id, project: project.name }, waiting.text);
    if (!waiting.isLasting) return null;
    return store.transaction(async (keepers) => {
      // A runner that takes the task meanwhile numbers its lines from the end of the log.
      const queued = await keepers.tasks.change(task.id, { whileIn: ["queued"], set: { state: "queued" } });
      return queued && appendSystemLine(keepers, { id: task.id, reason: waiting.text }, now);
    });
  };
}
