import type { Keepers } from "../../model/store.ts";
import type { LogLine, Task } from "../../model/task.ts";

/** Writes why the server decided about a task to the end of its log; to be told once the transaction is on disk. */
export async function appendSystemLine(
  keepers: Pick<Keepers, "tasks">,
  { id, reason }: Pick<Task, "id" | "reason">,
  at: Date,
): Promise<LogLine> {
  const index = await keepers.tasks.nextLogIndex(id);
  const line: LogLine = { index, stage: "system", at, text: `[${reason}]` };
  await keepers.tasks.appendLog(id, [line]);
  return line;
}
