import { operation } from "../../model/store.ts";
import type { Lease, Task } from "../../model/task.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { TaskEvents } from "../events/task-events.ts";
import { reportEnd, reportTask } from "../notify/report-task.ts";
import { endStages, hasSideEffects, resetStages, runningTitle } from "../queue/stages.ts";
import { appendSystemLine, type DecidedTask } from "../queue/system-line.ts";
import { noteLost } from "../release/record-release.ts";

/** The first attempt and one repeat. */
const maxAttempts = 2;

interface EndedLease {
  lease: Lease;
  /** Its runner calls, but does not end the task. */
  isStuck?: boolean;
  consoleUrl: string;
}

/**
 * Decides about a task whose runner did not call for a whole lease, or does not end it; null: the lease was renewed or
 * ended meanwhile.
 */
export const endLease = operation(
  "endLease",
  async (keepers, { lease, isStuck = false, consoleUrl }: EndedLease): Promise<DecidedTask | null> => {
    const { id, leaseHash, leaseUntil } = lease;
    const now = keepers.now();
    const task = await keepers.tasks.byId(id);
    if (task === null) return null;
    const changed = await keepers.tasks.change(task.id, {
      whileIn: [task.state],
      leaseHash,
      leaseUntil,
      set: { leaseHash: null, leaseUntil: null, ...verdict(task, isStuck, now) },
    });
    if (!changed) return null;
    await noteLost(keepers, changed);
    const line = await appendSystemLine(keepers, changed, now);
    const calls =
      changed.state === "queued"
        ? await reportTask(keepers, "task.queued", changed, consoleUrl)
        : await reportEnd(keepers, changed, consoleUrl);
    return { task: changed, line, calls };
  },
);

/** Tells subscribers about the decision. */
export function reportLostLease(events: TaskEvents, { task, line, calls }: DecidedTask): void {
  events.logged(task, [line]);
  if (task.state === "queued") events.requeued(task);
  else events.finished(task);
  events.send(calls);
}

/** Before deploy the task is repeated. Later the state is unknown, and a second deploy could make it worse. */
function verdict(task: Task, isStuck: boolean, now: Date): Partial<Task> & { reason: Reason } {
  const isTouched = hasSideEffects(task.stages);
  if (task.state === "canceling" && !isTouched)
    return {
      state: "canceled",
      reason: task.reason || newReason("canceled"),
      stages: endStages(task.stages, "canceled", now),
      finishedAt: now,
    };
  if (isStuck) {
    const state = isTouched ? "lost" : "timeout";
    return {
      state,
      reason: newReason("runner_stuck"),
      stages: endStages(task.stages, state, now),
      finishedAt: now,
    };
  }
  const { built = null, earlierAttempts = built?.attempt ?? 0 } = task.approval ?? {};
  if (!isTouched && task.attempt - earlierAttempts < maxAttempts)
    return {
      state: "queued",
      reason: newReason("runner_vanished_queued"),
      ...(built
        ? { runnerId: built.runnerId }
        : {
            stages: resetStages(task.stages),
            // An action stays with the runner that has the services.
            ...(task.serviceAction === null ? { runnerId: null } : {}),
            startedAt: null,
            approval: task.approval && { ...task.approval, earlierWaitMs: 0 },
          }),
    };
  const during = runningTitle(task.stages) ?? "the task";
  return {
    state: "lost",
    reason: isTouched
      ? newReason("runner_vanished_during", { stage: during })
      : newReason("runner_vanished_twice"),
    stages: endStages(task.stages, "lost", now),
    finishedAt: now,
  };
}
