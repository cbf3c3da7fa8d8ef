import { Worker } from "node:worker_threads";
import { Fault, messageOf } from "../../errors.ts";
import { decode, encode, type Message } from "./plain-data.ts";
import {
  type CallGroup,
  closeMessage,
  errorOf,
  type GroupAnswer,
  type Outcome,
  slotState,
  type ThreadCall,
  type ThreadData,
} from "./thread-message.ts";

export interface StoreThreadOptions extends Omit<ThreadData, "slots"> {
  program: string | URL;
  /** The store's time. */
  nowMs: () => number;
  /** Calls in one group at most. */
  maxCalls: number;
  /** Groups that the thread has at a time: while one is answered it executes the next. */
  maxGroups: number;
  /** More calls than this are refused; it means that the thread does not keep up. */
  maxWaiting: number;
  /** A call that has waited this long for the thread is refused. */
  maxWaitMs?: number;
  /** A group that takes longer is given up with its thread, and those behind it go on with another. */
  timeoutMs?: number;
  /** A thread without a call for this long ends; the next call starts another one. */
  idleMs?: number;
  /** What waits, for messages. */
  noun: string;
  /** Called with the answer of every group that the thread executed. */
  onAnswer?: (answer: GroupAnswer) => void;
}

interface Entry {
  name: string;
  parameters: readonly unknown[];
  /** Null: it waits however long it takes, unless the thread has `maxWaitMs`. */
  waitMs: number | null;
  /** On the clock of `performance.now()`. */
  waitUntilMs: number;
  /** Set while the thread has the call, where the wait is limited. */
  slot: number | null;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

interface SentGroup {
  entries: Entry[];
  timer: ReturnType<typeof setTimeout> | undefined;
}

/**
 * A group costs the same for a single call and for many. This many calls are sent at once; fewer wait for the end of the
 * turn of the event loop, and for the answer to the group that the thread has.
 */
const worthwhileCalls = 16;
const closed = "The database is closed.";

/** A thread with a connection of its own: SQLite blocks the thread that calls it. It starts at the first use. */
export function buildStoreThread(options: StoreThreadOptions) {
  const { maxCalls, maxGroups, maxWaiting, timeoutMs, maxWaitMs = Number.POSITIVE_INFINITY } = options;
  const waiting: Entry[] = [];
  let sent: SentGroup[] = [];
  let worker: Worker | null = null;
  let usedAtMs = 0;
  let idleTimer: ReturnType<typeof setTimeout> | undefined;
  let idleEnd: Promise<void> | null = null;
  let isPumping = false;
  let isClosed = false;
  let whenIdle: (() => void) | null = null;
  const slots = buildSlots(maxCalls * maxGroups);
  const expiry = buildExpiry(expire);

  function start(): Worker {
    const { file, role, program } = options;
    const data: ThreadData = { file, role, slots: slots.states };
    const started = new Worker(program, { workerData: data });
    started.on("message", (message: Message) => {
      if (started === worker) answered(decode(message) as GroupAnswer);
    });
    started.on("error", (error) => {
      if (started === worker) void stop(`The database failed: ${messageOf(error)}`);
    });
    started.on("exit", () => {
      if (started === worker) void stop("The thread of the database ended.");
    });
    return started;
  }

  /** Refuses what the thread has: whether that was written is unknown. What waits goes on with another thread. */
  async function stop(reason: string): Promise<void> {
    const ended = worker?.terminate();
    const left = sent;
    worker = null;
    sent = [];
    for (const group of left) {
      release(group);
      for (const { reject } of group.entries)
        reject(new Fault("unavailable", reason, { retryAfterSeconds: 1 }));
    }
    await ended;
    pump();
  }

  function answered(answer: GroupAnswer): void {
    const group = sent.shift();
    if (group === undefined) return;
    release(group);
    options.onAnswer?.(answer);
    for (const [index, entry] of group.entries.entries()) {
      if ("failure" in answer) entry.reject(errorOf(answer.failure));
      else settle(entry, answer.outcomes[index]);
    }
    // Only what is waited for keeps the process running.
    if (sent.length === 0) worker?.unref();
    usedAtMs = performance.now();
    endWhenIdle();
    pump();
  }

  /** One timer for a row of calls: a timer for each would cost more than most calls. */
  function endWhenIdle(): void {
    if (options.idleMs === undefined || idleTimer !== undefined) return;
    const leftMs = usedAtMs + options.idleMs - performance.now();
    idleTimer = setTimeout(
      () => {
        idleTimer = undefined;
        if (worker === null || sent.length > 0) return;
        if (performance.now() - usedAtMs < (options.idleMs ?? 0)) return endWhenIdle();
        idleEnd = endThread(worker);
        worker = null;
      },
      Math.max(1, leftMs),
    );
    idleTimer.unref();
  }

  async function endThread(ending: Worker): Promise<void> {
    await new Promise<void>((resolve) => {
      ending.once("message", () => resolve());
      ending.once("error", () => resolve());
      ending.postMessage(closeMessage);
    });
    await ending.terminate();
  }

  function release({ entries, timer }: SentGroup): void {
    clearTimeout(timer);
    for (const { slot } of entries) if (slot !== null) slots.release(slot);
  }

  function pump(): void {
    const isWorthwhile = () =>
      waiting.length >= (sent.length === 0 ? 1 : Math.min(worthwhileCalls, maxCalls));
    while (sent.length < maxGroups && isWorthwhile()) send(waiting.splice(0, maxCalls));
    if (waiting.length === 0 && sent.length === 0) whenIdle?.();
  }

  /** Lets this turn of the loop hand in all its calls first: they then share a group. */
  function pumpAfterTurn(): void {
    if (isPumping) return;
    isPumping = true;
    setImmediate(() => {
      isPumping = false;
      pump();
    });
  }

  function send(entries: Entry[]): void {
    const nowMs = options.nowMs();
    const calls = entries.map((entry): ThreadCall => {
      entry.slot = entry.waitMs === null ? null : slots.take();
      return { name: entry.name, parameters: entry.parameters, slot: entry.slot };
    });
    worker ??= start();
    if (sent.length === 0) worker.ref();
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => void stop(`A ${options.noun} took longer than ${timeoutMs / 1000} s.`), timeoutMs);
    sent.push({ entries, timer });
    worker.postMessage(encode({ nowMs, calls } satisfies CallGroup));
  }

  /** Ends the waits that are over: of calls that were not sent, and of those that the thread has not begun. */
  function expire(nowMs: number): number {
    const isOver = ({ waitUntilMs }: Entry) => waitUntilMs <= nowMs;
    for (const entry of waiting.filter(isOver)) {
      waiting.splice(waiting.indexOf(entry), 1);
      if (entry.waitMs === null) entry.reject(tooMany());
      else entry.resolve("timeout");
    }
    const withThread = sent.flatMap(({ entries }) => entries).filter(({ slot }) => slot !== null);
    for (const { slot, resolve } of withThread.filter(isOver))
      if (slot !== null && slots.abandon(slot)) resolve("timeout");
    const left = [...waiting, ...withThread.filter((entry) => !isOver(entry))];
    return Math.min(...left.map(({ waitUntilMs }) => waitUntilMs));
  }

  const tooMany = () =>
    new Fault("unavailable", `Too many ${options.noun}s wait for the database.`, { retryAfterSeconds: 1 });

  return {
    /** With `waitMs`: "timeout" when its turn did not come in time; then it was not executed. */
    async call(name: string, parameters: readonly unknown[], waitMs?: number): Promise<unknown> {
      if (isClosed) throw new Fault("unavailable", closed);
      if (waiting.length >= maxWaiting) throw tooMany();
      const waitUntilMs = performance.now() + (waitMs ?? maxWaitMs);
      return new Promise((resolve, reject) => {
        waiting.push({ name, parameters, waitMs: waitMs ?? null, waitUntilMs, slot: null, resolve, reject });
        expiry.at(waitUntilMs);
        if (waiting.length >= worthwhileCalls) pump();
        else pumpAfterTurn();
      });
    },
    /** Before everything that waits. */
    callNext: (name: string, parameters: readonly unknown[]) =>
      new Promise((resolve, reject) => {
        const waitUntilMs = Number.POSITIVE_INFINITY;
        send([{ name, parameters, waitMs: null, waitUntilMs, slot: null, resolve, reject }]);
      }),
    /** Refuses new calls, finishes those that were accepted, and ends the thread. */
    async close(): Promise<void> {
      isClosed = true;
      if (waiting.length > 0 || sent.length > 0)
        await new Promise<void>((resolve) => {
          whenIdle = resolve;
        });
      expiry.stop();
      clearTimeout(idleTimer);
      await idleEnd;
      if (worker === null) return;
      const ending = worker;
      ending.ref();
      worker = null;
      await endThread(ending);
    },
  };
}
export type StoreThread = ReturnType<typeof buildStoreThread>;

/** Places in the memory that both threads see. */
function buildSlots(count: number) {
  const states = new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT));
  const free = Array.from({ length: count }, (_, slot) => slot);
  return {
    states,
    take(): number | null {
      const slot = free.pop();
      if (slot === undefined) return null;
      Atomics.store(states, slot, slotState.waiting);
      return slot;
    },
    release: (slot: number) => void free.push(slot),
    /** False when the call has begun. */
    abandon: (slot: number) =>
      Atomics.compareExchange(states, slot, slotState.waiting, slotState.abandoned) === slotState.waiting,
  };
}

/** One timer for all waits: a timer for each call would cost more than most calls. */
function buildExpiry(expire: (nowMs: number) => number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let atMs = Number.POSITIVE_INFINITY;
  function at(ms: number): void {
    if (ms >= atMs) return;
    clearTimeout(timer);
    atMs = ms;
    timer = setTimeout(
      () => {
        atMs = Number.POSITIVE_INFINITY;
        at(expire(performance.now()));
      },
      Math.max(1, ms - performance.now()),
    );
    timer.unref();
  }
  return { at, stop: () => clearTimeout(timer) };
}

function settle({ resolve, reject }: Entry, outcome: Outcome | undefined): void {
  if (outcome === undefined) reject(new Error("The thread answered too little."));
  else if (outcome === "timeout") resolve(outcome);
  else if ("failure" in outcome) reject(errorOf(outcome.failure));
  else resolve(outcome.value);
}
