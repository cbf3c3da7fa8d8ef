import { operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import type { StageRequest } from "../../runner/protocol.ts";
import { setStage } from "../queue/stages.ts";
import { noteStage } from "../release/serving.ts";
import { type HeldLease, renew } from "./lease.ts";

interface StageReport {
  held: HeldLease;
  request: Omit<StageRequest, "taskId" | "attempt" | "lease">;
}

interface Reported {
  task: Task;
  /** The event for subscribers. */
  event: "changed" | "started" | "resolved";
}

/** Null: the runner no longer holds the task. */
export const reportStage = operation(
  "reportStage",
  async (keepers, { held, request }: StageReport): Promise<Reported | null> => {
    const before = await renew(keepers, held);
    if (!before) return null;
    if (before.state === "canceling" && request.state === "running")
      return { task: before, event: "changed" };
    const now = keepers.now();
    const { commit, message } = request;
    const isStart = before.startedAt === null;
    const task = await keepers.tasks.change(before.id, {
      whileIn: [before.state],
      set: {
        stages: setStage(before.stages, request, now),
        ...(before.state === "dispatched" ? { state: "running" } : {}),
        ...(isStart ? { startedAt: now } : {}),
        ...(commit ? { commit } : {}),
        ...(message && before.message === "" ? { message } : {}),
      },
    });
    if (task) await noteStage(keepers, task, request);
    const isResolved = commit !== undefined && before.commit === null;
    return task && { task, event: isStart ? "started" : isResolved ? "resolved" : "changed" };
  },
);
