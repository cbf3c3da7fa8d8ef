import { operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import type { FinishRequest } from "../../runner/protocol.ts";
import { waitingSince } from "../approval/request-approval.ts";
import { endStages } from "../queue/stages.ts";
import { noteEnd, rollbackText } from "../release/serving.ts";
import { type HeldLease, renew } from "./lease.ts";

interface Ending {
  held: HeldLease;
  state: FinishRequest["state"];
  reason: string;
  kept: FinishRequest["kept"];
}

/** Null: the runner no longer holds the task. */
export const finishTask = operation(
  "finishTask",
  async (keepers, { held, state, reason, kept }: Ending): Promise<Task | null> => {
    const before = await renew(keepers, held);
    if (!before) return null;
    const now = keepers.now();
    if (state === "success" && before.approval?.state === "building") {
      const set =
        before.state === "canceling" ? canceledBuild(before, now) : waitingSince(before.approval, now);
      return keepers.tasks.change(before.id, { whileIn: [before.state], set });
    }
    // A cancel keeps its own reason: the person who canceled, or the superseding task.
    const given = state === "canceled" && before.reason ? before.reason : reason;
    const task = await keepers.tasks.change(before.id, {
      whileIn: [before.state],
      set: {
        state,
        reason: before.state === "canceling" && state === "success" ? "" : withRollback(before, given),
        stages: endStages(before.stages, state, now),
        leaseUntil: null,
        startedAt: before.startedAt ?? now,
        finishedAt: now,
      },
    });
    if (task) await noteEnd(keepers, task, kept, now);
    return task;
  },
);

/** It was built, and canceled before an approval was requested. */
function canceledBuild({ stages }: Task, now: Date): Partial<Task> {
  return { state: "canceled", stages: endStages(stages, "canceled", now), leaseUntil: null, finishedAt: now };
}

/** The outcome comes first: a commit status shows little more. */
function withRollback(task: Task, reason: string): string {
  return task.rollback ? `${rollbackText(task, task.rollback)} ${reason}`.trim() : reason;
}
