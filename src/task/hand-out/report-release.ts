import { operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { noteRollback, type RollbackReport } from "../release/record-release.ts";
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
