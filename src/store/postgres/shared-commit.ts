import { Fault } from "../../errors.ts";
import type { SharedWork, TransactionLock, Transactions } from "./transaction.ts";

/** Transactions at a time. While one is on its way to disk, the next one executes. */
const maxTransactions = 2;
/** Operations in a transaction. */
const maxTogether = 32;
/** Fewer operations than this wait for the transaction that runs: one of their own would cost more than it saves. */
const worthwhileOperations = 8;
/** More than this are refused; it means that the database does not keep up. */
const maxWaiting = 10_000;

interface Waiting extends SharedWork {
  waitUntilMs: number;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Lets short operations of different locks that arrive together share a transaction, because a commit and a round trip
 * cost more than the operation. What cannot share, or failed together with others, is executed alone.
 */
export function buildSharedCommit({ alone, together }: Transactions) {
  let waiting: Waiting[] = [];
  let running = 0;
  let isScheduled = false;

  function start(): void {
    isScheduled = false;
    while (running < maxTransactions && waiting.length >= (running === 0 ? 1 : worthwhileOperations)) {
      const group = waiting.slice(0, maxTogether);
      waiting = waiting.slice(maxTogether);
      running++;
      void execute(group).finally(() => {
        running--;
        schedule();
      });
    }
  }

  /** Lets this turn of the event loop hand in all its operations first. */
  function schedule(): void {
    if (isScheduled || waiting.length === 0) return;
    isScheduled = true;
    setImmediate(start);
  }

  async function execute(group: readonly Waiting[]): Promise<void> {
    const nowMs = performance.now();
    for (const { resolve } of group.filter(({ waitUntilMs }) => waitUntilMs <= nowMs)) resolve("timeout");
    const inTime = group.filter(({ waitUntilMs }) => waitUntilMs > nowMs);
    if (inTime.length === 0) return;
    try {
      const outcomes = await together(inTime);
      for (const [index, outcome] of outcomes.entries()) {
        const entry = inTime[index];
        if (outcome === "alone") executeAlone(entry);
        else entry?.resolve(outcome.value);
      }
    } catch (error) {
      for (const { reject } of inTime) reject(error);
    }
  }

  function executeAlone(entry: Waiting | undefined): void {
    if (entry === undefined) return;
    const { lockName, waitUntilMs, work, resolve, reject } = entry;
    alone({ name: lockName, waitUntilMs }, work).then(resolve, reject);
  }

  return {
    isIdle: () => waiting.length === 0 && running === 0,
    async run({ name, waitUntilMs }: TransactionLock, work: SharedWork["work"]): Promise<unknown> {
      if (waiting.length >= maxWaiting)
        throw new Fault("unavailable", "Too many writes wait for the database.", { retryAfterSeconds: 1 });
      return new Promise((resolve, reject) => {
        waiting.push({ lockName: name, work, waitUntilMs, resolve, reject });
        schedule();
      });
    },
  };
}
