import { operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import type { FinishRequest } from "../../runner/protocol.ts";
import { endStages, isSideEffect } from "../queue/stages.ts";
import { type HeldLease, renew } from "./lease.ts";

interface Ending {
  held: HeldLease;
  state: FinishRequest["state"];
  reason: string;
}

/** Null: the runner no longer holds the task. */
export const finishTask = operation(
  "finishTask",
  async (keepers, { held, state, reason }: Ending): Promise<Task | null> => {
    const before = await renew(keepers, held);
    if (!before) return null;
    const now = keepers.now();
    // A cancel keeps its own words: who did it, or what superseded it.
    const given = state === "canceled" && before.reason ? before.reason : reason;
    const task = await keepers.tasks.change(before.id, {
      whileIn: [before.state],
      set: {
        state,
        reason: before.state === "canceling" && state === "success" ? "" : given,
        stages: endStages(before.stages, state, now),
        leaseUntil: null,
        startedAt: before.startedAt ?? now,
        finishedAt: now,
      },
    });
    // A task that failed or was ended after its deploy is not a version to return to.
    if (task?.state === "success" && hasDeployed(task))
      await keepers.projects.setLiveTask(task.projectId, task.id);
    return task;
  },
);

function hasDeployed({ stages }: Task): boolean {
  return stages.some(({ name, state }) => isSideEffect(name) && state === "success");
}
