import { operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import type { Reason } from "../../reason/reason.ts";
import { reportEnd } from "../notify/report-task.ts";
import { endStages } from "../queue/stages.ts";
import { appendSystemLine, type DecidedTask } from "../queue/system-line.ts";

interface Refusal {
  task: Task;
  reason: Reason;
  consoleUrl: string;
}

/** Ends a task that no runner can run; otherwise it would be handed out again and again. */
export const refuseTask = operation(
  "refuseTask",
  async (keepers, { task, reason, consoleUrl }: Refusal): Promise<DecidedTask | null> => {
    const now = keepers.now();
    const stages = endStages(task.stages, "failed", now);
    const set = { state: "failed", reason, stages, leaseUntil: null, finishedAt: now } as const;
    const failed = await keepers.tasks.change(task.id, { whileIn: ["dispatched"], set });
    if (!failed) return null;
    const line = await appendSystemLine(keepers, failed, now);
    return { task: failed, line, calls: await reportEnd(keepers, failed, consoleUrl) };
  },
);
