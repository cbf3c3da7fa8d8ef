import { operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import type { OutputRequest } from "../../runner/protocol.ts";
import { noteOutput, noteRollback, type RollbackReport } from "../release/record-release.ts";
import { type HeldLease, renew } from "./lease.ts";

interface RollbackCall {
  held: HeldLease;
  request: RollbackReport;
}

/** Stores how the rollback after a failed deploy goes. Null: the runner no longer holds the task. */
export const reportRollback = operation(
  "reportRollback",
  async (keepers, { held, request }: RollbackCall): Promise<Task | null> => {
    const before = await renew(keepers, held);
    if (!before) return null;
    const rollback = await noteRollback(keepers, before, request, keepers.now());
    return keepers.tasks.change(before.id, { whileIn: [before.state], set: { rollback } });
  },
);

interface OutputReport {
  held: Pick<HeldLease, "taskId" | "attempt" | "runnerId" | "leaseHash">;
  request: Pick<OutputRequest, "text" | "hasExited" | "serviceTaskId">;
}

/**
 * Stores the first output of a started service, and whether it has exited. It may arrive after the task has ended. Null:
 * another attempt has replaced it.
 */
export const reportOutput = operation(
  "reportOutput",
  async (keepers, { held, request }: OutputReport): Promise<Task | null> => {
    const task = await keepers.tasks.byId(held.taskId);
    const isIts = task?.runnerId === held.runnerId && task.attempt === held.attempt;
    if (!isIts || task.leaseHash !== held.leaseHash) return null;
    await noteOutput(keepers, task, request, keepers.now());
    return task;
  },
);
