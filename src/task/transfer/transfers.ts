import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Runner } from "../../model/runner.ts";
import { megabytes } from "../../model/service/disk-use.ts";
import type { Transfer } from "../../model/service/transfer.ts";
import type { Store } from "../../model/store.ts";
import { isFinished } from "../../model/task.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { reasonOf } from "../../reason/said-reason.ts";
import {
  claimWaitMs,
  type TransferAnswer,
  type TransferEndRequest,
  transferBeatMs,
  transferPartTimeoutMs,
  type WantedTransfer,
} from "../../runner/protocol.ts";
import { randomToken } from "../../secrets.ts";
import { queueTopic, type Wakeups } from "../events/wakeups.ts";
import { type HeldLease, renewLease } from "../queue.ts";
import { runnerTopic } from "../service/wanted-output.ts";
import { mustStop } from "../transitions.ts";
import { beginTransfer } from "./begin-transfer.ts";
import type { TransferFiles } from "./transfer-files.ts";

export interface TransfersParts {
  store: Store;
  wakeups: Wakeups;
  files: TransferFiles;
  /** Most that all transfers take together. */
  quotaBytes: number;
  log: Logger;
}

const transferTopic = (id: string) => `transfer ${id}`;
const lookEveryMs = 1000;
/** A holder from which nothing came for this long sends nothing any more. A part is seen only when all of it is here. */
const silentMs = transferPartTimeoutMs + transferBeatMs;
const sweepEveryMs = 30_000;
/** After its task has ended. */
const keptMs = 60_000;
/** What a part counts at least: an empty one takes a file too. */
const leastBytes = 64 * 1024;
const underWay = ["stopping", "wanted", "sending"] as const;

/**
 * Releases and data on their way between runners, which never connect to each other. Only the runner that holds the task that needs
 * a transfer gets its parts, while they still arrive.
 */
export function buildTransfers({ store, wakeups, files, quotaBytes, log }: TransfersParts) {
  const { transfers } = store;
  let sweeping: ReturnType<typeof setInterval> | undefined;

  async function fail(id: string, fault: Reason, isFinal: boolean): Promise<TransferAnswer> {
    const set = { state: "failed", fault, isFinal, bytes: 0 } as const;
    const row = await transfers.change(id, [...underWay, "complete"], set);
    if (row !== null) drop(row);
    wakeups.notify(transferTopic(id));
    return failed(fault, isFinal);
  }

  /** Its parts go. The row stays until its task has ended, because a task may ask only so often. */
  function drop({ key, parts }: Transfer): void {
    void files.remove(key, parts + 1).catch(noted);
  }

  /** The services whose data is wanted have stopped, or did not. */
  async function afterStop({ key, forTaskId, fromRunnerId }: Transfer): Promise<TransferAnswer | null> {
    const move = (await store.tasks.byId(forTaskId))?.move;
    const stop = move?.stopTaskId ? await store.tasks.byId(move.stopTaskId) : null;
    if (stop !== null && !isFinished(stop.state)) return null;
    if (stop?.state !== "success") return fail(key, newReason("transfer_not_stopped"), true);
    await transfers.change(key, ["stopping"], { state: "wanted", movedAt: store.now() });
    wakeups.notify(runnerTopic(fromRunnerId));
    return null;
  }

  /** What the transfer has for a task now; null: nothing yet. */
  async function look(row: Transfer, part: number): Promise<Uint8Array<ArrayBuffer> | TransferAnswer | null> {
    if (row.state === "failed") return failed(row.fault, row.isFinal);
    if (part < row.parts) {
      const bytes = await files.get(row.key, part);
      return bytes ?? fail(row.key, newReason("transfer_part_missing"), true);
    }
    if (row.state === "complete") return { state: "complete" };
    if (row.state === "stopping") return afterStop(row);
    if (store.now().getTime() - row.movedAt.getTime() < silentMs) return null;
    const runner = (await store.runners.byId(row.fromRunnerId))?.name ?? String(row.fromRunnerId);
    return fail(row.key, newReason("transfer_stalled", { runner }), false);
  }

  async function isTooMuch(bytes: number): Promise<boolean> {
    if ((await transfers.totalBytes()) + bytes <= quotaBytes) return false;
    await sweep(0);
    return (await transfers.totalBytes()) + bytes > quotaBytes;
  }

  /** Removes what no task needs since this long. */
  async function sweep(afterMs = keptMs): Promise<void> {
    const now = store.now().getTime();
    for (const { key, parts, forTaskId, forAttempt, movedAt } of await transfers.all()) {
      const task = await store.tasks.byId(forTaskId);
      const isNeeded = task !== null && !isFinished(task.state) && task.attempt === forAttempt;
      if (isNeeded || now - movedAt.getTime() < afterMs) continue;
      await files.remove(key, parts + 1);
      await transfers.delete(key);
    }
  }

  const noted = (error: unknown) =>
    log.error({ error: messageOf(error) }, "transfers that nobody needs could not be removed");

  return {
    /** Null: the runner does not hold the task any more. */
    async begin(
      held: HeldLease,
      { kind, root }: { kind: Transfer["kind"]; root: string },
    ): Promise<TransferAnswer | null> {
      const id = randomToken(18);
      const begun = await store.run(beginTransfer, { held, id, kind, root });
      if (begun === null) return null;
      if ("fault" in begun) return failed(begun.fault, true);
      for (const each of begun.replaced) drop(each);
      wakeups.notify(begun.isWanted ? runnerTopic(begun.fromRunnerId) : queueTopic);
      return { state: "begun", id };
    },

    /** The next part for a task, or how it stands. Null: the runner does not hold the task any more. */
    async part(
      held: HeldLease,
      { id, part }: { id: string; part: number },
      signal: AbortSignal,
    ): Promise<Uint8Array<ArrayBuffer> | TransferAnswer | null> {
      const endsAt = performance.now() + claimWaitMs;
      for (;;) {
        const woken = wakeups.wait(transferTopic(id), lookEveryMs, signal);
        const task = await store.run(renewLease, held);
        if (task === null || mustStop(task)) return null;
        const row = await transfers.byKey(id);
        const isIts =
          row?.forTaskId === task.id && row.forAttempt === task.attempt && row.toRunnerId === held.runnerId;
        const found = isIts ? await look(row, part) : failed(newReason("transfer_not_needed"), true);
        if (found !== null) return found;
        if (signal.aborted || performance.now() >= endsAt) return { state: "waiting" };
        await woken;
      }
    },

    /** What a runner is asked to send. */
    async take(runnerId: number): Promise<WantedTransfer[]> {
      const taken = await transfers.take(runnerId, store.now());
      return taken.map(({ key, kind, projectId, taskId, attempt, root }) => ({
        ...{ id: key, kind, projectId, taskId, attempt, root },
      }));
    },

    /** A part of the holder. `failed`: it is not wanted any more. */
    async sent(
      { id: runnerId }: Runner,
      id: string,
      part: number,
      bytes: Uint8Array,
    ): Promise<TransferAnswer> {
      const row = await transfers.byKey(id);
      if (row?.fromRunnerId !== runnerId || row.state !== "sending" || part > row.parts)
        return failed(newReason("transfer_not_needed"), true);
      // The answer to an earlier call was lost.
      if (part < row.parts) return { state: "waiting" };
      const task = await store.tasks.byId(row.forTaskId);
      if (task === null || isFinished(task.state) || mustStop(task))
        return fail(id, newReason("transfer_not_needed"), true);
      const counted = Math.max(bytes.byteLength, leastBytes);
      if (await isTooMuch(counted))
        return fail(id, newReason("transfer_quota", { quota: megabytes(quotaBytes) }), true);
      try {
        await files.put(id, part, bytes);
      } catch (error) {
        log.error({ error: messageOf(error) }, "a part of a transfer could not be stored");
        const isFull = ["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "");
        return fail(id, newReason(isFull ? "transfer_server_full" : "transfer_not_stored"), true);
      }
      const set = { parts: part + 1, bytes: row.bytes + counted, movedAt: store.now() };
      const changed = await transfers.change(id, ["sending"], set);
      wakeups.notify(transferTopic(id));
      return changed === null ? failed(newReason("transfer_not_needed"), true) : { state: "waiting" };
    },

    /** The holder has sent all parts, or cannot. */
    async ended({ id: runnerId }: Runner, request: TransferEndRequest): Promise<void> {
      const row = await transfers.byKey(request.id);
      if (row?.fromRunnerId !== runnerId || row.state !== "sending") return;
      if (!("parts" in request)) return void (await fail(row.key, reasonOf(request), request.isFinal));
      if (request.parts !== row.parts)
        return void (await fail(row.key, newReason("transfer_part_missing"), false));
      await transfers.change(row.key, ["sending"], { state: "complete", movedAt: store.now() });
      wakeups.notify(transferTopic(row.key));
    },

    async start(): Promise<void> {
      const known = async () => new Set((await transfers.all()).map(({ key }) => key));
      await files.removeOthers(known).catch(noted);
      sweeping = setInterval(() => void sweep().catch(noted), sweepEveryMs);
      sweeping.unref();
    },
    close: () => clearInterval(sweeping),
  };
}
export type Transfers = ReturnType<typeof buildTransfers>;

function failed(reason: Reason, isFinal: boolean): TransferAnswer {
  return { state: "failed", ...reasonJson({ reason }), isFinal };
}
