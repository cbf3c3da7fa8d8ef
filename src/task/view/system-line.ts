import type { AddedCall } from "../../model/outgoing-call.ts";
import type { Keepers } from "../../model/store.ts";
import type { LogLine, Task } from "../../model/task.ts";
import { renderReason } from "../../reason/reason.ts";

/** A task that the server has decided about. */
export interface DecidedTask {
  task: Task;
  /** The line of its log with the reason; null: nothing was decided that the log should show. */
  line: LogLine | null;
  /** What was stored for people and the Git host. */
  calls: AddedCall[];
}

/** Appends the server's reason for a decision to the task's log; announce it when the transaction is on disk. */
export async function appendSystemLine(
  keepers: Pick<Keepers, "tasks">,
  { id, reason }: Pick<Task, "id" | "reason">,
  at: Date,
): Promise<LogLine> {
  const index = await keepers.tasks.nextLogIndex(id);
  const line: LogLine = { index, stage: "system", step: null, at, text: `[${renderReason(reason)}]` };
  await keepers.tasks.appendLog(id, [line]);
  return line;
}
