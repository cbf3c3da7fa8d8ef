import { Fault, messageOf } from "../../errors.ts";
import { codeOf } from "../query/error-code.ts";

export interface ThreadData {
  file: string;
  /** The writer also answers short reads, and brings the schema up to date. */
  role: "writer" | "lister";
}

/** Calls that a thread executes in one transaction; it answers with one outcome for each. */
export interface CallGroup {
  elapsedMs: number;
  calls: ThreadCall[];
}

/** `name` is an operation's, or `noun.method` of a keeper. */
export interface ThreadCall {
  name: string;
  parameters: readonly unknown[];
  /**
   * The store's time, less elapsed time, when the call was made: its parameters may have times from before the system clock was
   * set.
   */
  offsetMs: number;
  /**
   * One word of memory that both threads see: whether the call began or its caller gave up, whichever was first. Null: the
   * caller waits however long it takes.
   */
  state: Int32Array<SharedArrayBuffer> | null;
}

const states = { waiting: 0, begun: 1, abandoned: 2 } as const;

export function newState(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/** False: its caller gave up. */
export function begin({ state }: ThreadCall): boolean {
  return state === null || leaveWaiting(state, states.begun);
}

/** False: it has begun. */
export function giveUp({ state }: ThreadCall): boolean {
  return state !== null && leaveWaiting(state, states.abandoned);
}

function leaveWaiting(state: Int32Array<SharedArrayBuffer>, next: number): boolean {
  return Atomics.compareExchange(state, 0, states.waiting, next) === states.waiting;
}

export type Outcome = { value: unknown } | { failure: Failure };

/** An error on its way between threads, which of a class of ours would keep its message only. */
export interface Failure {
  message: string;
  /** SQLite's name of the error or of its cause; empty: it is none of SQLite's. */
  sqliteCode: string;
  fault: Omit<Fault, keyof Error> | null;
}

export function failureOf(error: unknown): Failure {
  const isFault = error instanceof Fault;
  return {
    message: messageOf(error),
    sqliteCode: codeOf(isFault ? error.cause : error),
    fault: isFault ? { ...error } : null,
  };
}

export function errorOf({ message, sqliteCode, fault }: Failure): Error {
  const cause = Object.assign(new Error(message), sqliteCode === "" ? {} : { code: sqliteCode });
  return fault === null ? cause : Object.assign(new Fault(fault.code, fault.reason, { cause }), fault);
}
