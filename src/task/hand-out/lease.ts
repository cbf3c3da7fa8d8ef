import { type OperationKeepers, operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { hasSideEffects } from "../queue/stages.ts";

/** A runner's claim to hold a task, as its calls present it. */
export interface HeldLease {
  taskId: number;
  attempt: number;
  runnerId: number;
  leaseHash: string;
  /** The term of the renewed lease. */
  leaseMs: number;
}

const heldStates = ["dispatched", "running", "canceling"] as const;

/** Renews the lease; null: the caller no longer holds the task. */
export async function renew(keepers: OperationKeepers, held: HeldLease): Promise<Task | null> {
  const { taskId, attempt, runnerId, leaseHash, leaseMs } = held;
  const task = await keepers.tasks.change(taskId, {
    whileIn: heldStates,
    leaseHash,
    set: { leaseUntil: new Date(keepers.now().getTime() + leaseMs) },
  });
  return task && task.runnerId === runnerId && task.attempt === attempt ? task : null;
}

export const renewLease = operation("renewLease", renew);

/** Whether the runner must stop. It continues a deploy that began while another instance created the superseding task. */
export function mustStop({ state, supersededBy, stages }: Task): boolean {
  return state === "canceling" && !(supersededBy !== null && hasSideEffects(stages));
}
