import { isSeen } from "../../model/runner.ts";
import type { Transfer, TransferKind } from "../../model/service/transfer.ts";
import { type OperationKeepers, operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { transferFeature } from "../../runner/protocol.ts";
import { type HeldLease, renew } from "../queue.ts";
import { stopEarlier } from "../release/earlier-services.ts";
import { neededRelease } from "../release/needed-release.ts";
import { mustStop } from "../transitions.ts";

interface Begin {
  held: HeldLease;
  /** Of the new transfer. */
  id: string;
  kind: TransferKind;
  root: string;
}

/** `replaced`: the earlier tries, whose parts nobody gets any more. */
export type Begun = { fromRunnerId: number; isWanted: boolean; replaced: Transfer[] } | { fault: Reason };

/** The first transfer and one repeat, for each attempt of a task. */
const maxTransfers = 2;

/** A task asks for what it needs of another runner. Null: the caller does not hold the task any more. */
export const beginTransfer = operation(
  "beginTransfer",
  async (keepers, { held, id, kind, root }: Begin): Promise<Begun | null> => {
    const task = await renew(keepers, held);
    if (task === null || mustStop(task)) return null;
    const release = await neededRelease(keepers, task);
    const isNeeded = release !== null && (kind === "release" || task.move?.withData === true);
    const earlier = (await keepers.transfers.ofTask(task.id, task.attempt)).filter(
      (each) => each.kind === kind,
    );
    if (!isNeeded || earlier.length >= maxTransfers) return { fault: newReason("transfer_not_needed") };
    for (const each of earlier)
      await keepers.transfers.change(each.key, ["stopping", "wanted", "sending", "complete"], {
        ...{ state: "failed", fault: newReason("transfer_repeated"), bytes: 0 },
      });
    const fromRunnerId = kind === "data" ? (task.move?.fromRunnerId ?? 0) : release.runnerId;
    const fault = await holderFault(keepers, fromRunnerId);
    if (fault !== null) return { fault };
    const isStopping = kind === "data" && (await isStopNeeded(keepers, task));
    const now = keepers.now();
    await keepers.transfers.add({
      ...{ key: id, kind, projectId: release.projectId, taskId: release.taskId, attempt: release.attempt },
      ...{ fromRunnerId, toRunnerId: held.runnerId, root, forTaskId: task.id, forAttempt: task.attempt },
      ...{ state: isStopping ? "stopping" : "wanted", parts: 0, bytes: 0 },
      ...{ fault: "", isFinal: false, createdAt: now, movedAt: now },
    });
    return { fromRunnerId, isWanted: !isStopping, replaced: earlier };
  },
);

/** Why the runner that has it cannot send it now; null: it can. */
async function holderFault(keepers: OperationKeepers, runnerId: number): Promise<Reason | null> {
  const runner = await keepers.runners.byId(runnerId);
  if (!runner || !isSeen(runner, keepers.now()))
    return newReason("runner_away", { runner: runner?.name ?? String(runnerId) });
  if (runner.features.includes(transferFeature)) return null;
  return newReason("runner_without_transfer", { runner: runner.name, version: runner.version });
}

/** Data is sent when nothing writes to it any more. */
async function isStopNeeded(keepers: OperationKeepers, task: Task): Promise<boolean> {
  if (task.move === null) return false;
  if (task.move.stopTaskId !== null) return true;
  const stop = await stopEarlier(keepers, task, task.move);
  if (stop === null) return false;
  const move = { ...task.move, stopTaskId: stop.id };
  await keepers.tasks.change(task.id, { whileIn: [task.state], set: { move } });
  return true;
}
