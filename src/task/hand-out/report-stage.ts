import type { AddedCall } from "../../model/outgoing-call.ts";
import { isSideEffect } from "../../model/stage/stage-name.ts";
import { operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import type { StageRequest } from "../../runner/protocol.ts";
import { reportTask } from "../notify/report-task.ts";
import { setStage } from "../queue/stages.ts";
import { noteStage } from "../release/record-release.ts";
import { type HeldLease, mustStop, renew } from "./lease.ts";

interface StageReport {
  held: HeldLease;
  request: Omit<StageRequest, "taskId" | "attempt" | "lease">;
  consoleUrl: string;
}

interface Reported {
  task: Task;
  /** The event for subscribers. */
  event: "changed" | "started" | "resolved";
  calls: AddedCall[];
}

/** Whether the task begins to change what serves. Actions with services are no deploys. */
function begins(
  { deployingSince, serviceAction }: Task,
  { stage, state }: Pick<StageRequest, "stage" | "state">,
): boolean {
  return serviceAction === null && deployingSince === null && state === "running" && isSideEffect(stage);
}

/** Stores that a stage has begun or ended. Null: the runner no longer holds the task. */
export const reportStage = operation(
  "reportStage",
  async (keepers, { held, request, consoleUrl }: StageReport): Promise<Reported | null> => {
    const before = await renew(keepers, held);
    if (!before) return null;
    if (mustStop(before) && request.state === "running") return { task: before, event: "changed", calls: [] };
    const now = keepers.now();
    const { commit, message } = request;
    const isStart = before.startedAt === null;
    const task = await keepers.tasks.change(before.id, {
      whileIn: [before.state],
      set: {
        stages: setStage(before.stages, request, now),
        ...(before.state === "dispatched" ? { state: "running" } : {}),
        ...(isStart ? { startedAt: now } : {}),
        ...(begins(before, request) ? { deployingSince: now } : {}),
        ...(request.stage === "checkout" ? { fetchingSince: request.state === "running" ? now : null } : {}),
        ...(commit ? { commit } : {}),
        ...(message && before.message === "" ? { message } : {}),
      },
    });
    if (!task) return null;
    await noteStage(keepers, task, request);
    const isResolved = commit !== undefined && before.commit === null;
    if (!isStart && !isResolved) return { task, event: "changed", calls: [] };
    // Of a resolved commit nobody is notified, but it gets its status.
    const calls = await reportTask(keepers, isStart ? "task.started" : "status", task, consoleUrl);
    return { task, event: isStart ? "started" : "resolved", calls };
  },
);
