import { Worker } from "node:worker_threads";
import { Fault, messageOf } from "../../errors.ts";
import {
  type CallGroup,
  errorOf,
  giveUp,
  newState,
  type Outcome,
  type ThreadCall,
  type ThreadData,
} from "./call-group.ts";
import type { StoreTime } from "./store-time.ts";

export interface StoreThreadOptions extends ThreadData {
  program: string | URL;
  time: Omit<StoreTime, "nowMs">;
  /** Calls in one group at most. */
  maxCalls: number;
  /** More calls than this are refused; it means that the thread does not keep up. */
  maxWaiting: number;
  /** A group that takes longer is given up with its thread, and what waits goes on with another. */
  timeoutMs?: number;
  /** What waits, for messages. */
  noun: string;
}

interface Entry extends ThreadCall {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/**
 * A thread with a connection of its own: SQLite blocks the thread that calls it. It starts at the first call, and gets what
 * waits as one group whenever it is free.
 */
export function buildStoreThread(options: StoreThreadOptions) {
  const { file, role, program, noun, time, timeoutMs } = options;
  const waiting: Entry[] = [];
  let sent: Entry[] = [];
  let worker: Worker | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isSending = false;
  let isClosed = false;
  let whenIdle: (() => void) | null = null;

  function start(): Worker {
    const started = new Worker(program, { workerData: { file, role } satisfies ThreadData });
    started.on("message", answered);
    const failed = (reason: string) => {
      if (started === worker) void stop(reason);
    };
    started.on("error", (error) => failed(`The database failed: ${messageOf(error)}`));
    started.on("exit", () => failed("The thread of the database ended."));
    return started;
  }

  function takeSent(): Entry[] {
    clearTimeout(timer);
    const entries = sent;
    sent = [];
    return entries;
  }

  /** Refuses what the thread has: whether that was written is unknown. */
  async function stop(reason: string): Promise<void> {
    const ended = worker?.terminate();
    worker = null;
    for (const { reject } of takeSent()) reject(new Fault("unavailable", reason, { retryAfterSeconds: 1 }));
    await ended;
    sendSoon();
  }

  function answered(outcomes: Outcome[]): void {
    for (const [index, { resolve, reject }] of takeSent().entries()) {
      const outcome = outcomes[index];
      if (outcome !== undefined && "value" in outcome) resolve(outcome.value);
      else reject(outcome ? errorOf(outcome.failure) : new Error("The thread answered too little."));
    }
    // Only what is waited for keeps the process running.
    worker?.unref();
    sendSoon();
  }

  /** Lets this turn of the event loop hand in all its calls first: they then share a group. */
  function sendSoon(): void {
    if (isSending || sent.length > 0) return;
    isSending = true;
    setImmediate(() => {
      isSending = false;
      if (sent.length > 0) return;
      if (waiting.length > 0) send();
      else whenIdle?.();
    });
  }

  function send(): void {
    sent = waiting.splice(0, options.maxCalls);
    const calls = sent.map(({ resolve: _, reject: __, ...call }) => call);
    worker ??= start();
    worker.ref();
    if (timeoutMs !== undefined)
      timer = setTimeout(() => void stop(`A ${noun} took longer than ${timeoutMs / 1000} s.`), timeoutMs);
    try {
      worker.postMessage({ elapsedMs: time.elapsedMs(), calls } satisfies CallGroup);
    } catch (error) {
      for (const { reject } of takeSent()) reject(error as Error);
      sendSoon();
    }
  }

  return {
    /** With `waitMs`: "timeout" when its turn did not come in time; then it is not executed. */
    async call(name: string, parameters: readonly unknown[], waitMs?: number): Promise<unknown> {
      if (isClosed) throw new Fault("unavailable", "The database is closed.");
      if (waiting.length >= options.maxWaiting) throw tooMany(noun);
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const entry: Entry = {
        name,
        parameters,
        offsetMs: time.offsetMs(),
        state: waitMs === undefined ? null : newState(),
        resolve,
        reject,
      };
      waiting.push(entry);
      // Afterwards: what it calls is executed between the calls of the old time and those of the new.
      time.follow();
      worker ??= start();
      sendSoon();
      if (waitMs === undefined) return promise;
      const expiry = setTimeout(() => giveUp(entry) && resolve("timeout"), waitMs);
      return promise.finally(() => clearTimeout(expiry));
    },
    /** Refuses new calls, finishes those that were accepted, and ends the thread. */
    async close(): Promise<void> {
      isClosed = true;
      await new Promise<void>((resolve) => {
        whenIdle = resolve;
        sendSoon();
      });
      if (worker === null) return;
      const ending = worker;
      worker = null;
      ending.ref();
      await new Promise((resolve) => {
        ending.once("exit", resolve);
        ending.postMessage(null);
      });
    },
  };
}

export function tooMany(noun: string): Fault {
  return new Fault("unavailable", `Too many ${noun}s wait for the database.`, { retryAfterSeconds: 1 });
}
