import { operation } from "../../model/store.ts";
import type { LogLine, Task } from "../../model/task.ts";
import { type HeldLease, renew } from "./lease.ts";

/** A runner cuts the log at its limit; lines of a faulty runner beyond it are acknowledged and dropped. */
const logSlackBytes = 1024 * 1024;

interface SentLines {
  held: HeldLease;
  lines: LogLine[];
  /** Index after the last line. */
  end: number;
  logMaxBytes: number;
}

interface Appended {
  task: Task;
  /** Lines that were not in the log before. */
  fresh: LogLine[];
  /** The next index expected. */
  ack: number;
}

/** Stores log lines that a runner sends. Null: the runner no longer holds the task. */
export const appendLog = operation(
  "appendLog",
  async (keepers, { held, lines, end, logMaxBytes }: SentLines): Promise<Appended | null> => {
    const task = await renew(keepers, held);
    if (!task) return null;
    if ((await keepers.tasks.logBytes(task.id)) > logMaxBytes + logSlackBytes)
      return { task, fresh: [], ack: end };
    const before = await keepers.tasks.nextLogIndex(task.id);
    const ack = await keepers.tasks.appendLog(task.id, lines);
    return { task, fresh: lines.filter((line) => line.index >= before && line.index < ack), ack };
  },
);
