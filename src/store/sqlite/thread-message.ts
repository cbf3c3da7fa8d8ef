import { Fault, type FaultCode, type FieldFault, messageOf } from "../../errors.ts";
import { type Reason, renderReason } from "../../reason/reason.ts";
import { codeOf } from "../query/error-code.ts";

export interface ThreadData {
  file: string;
  role: ThreadRole;
  /** For each call with a slot: whether the thread began it or its caller gave up, whichever was first. */
  slots: Int32Array<SharedArrayBuffer>;
}

/** The message that makes a thread close its connection, and its answer. */
export const closeMessage = "close";

/** The writer also brings the schema up to date. */
export type ThreadRole = "writer" | "reader";

/** Calls that are executed together; on the writer in one transaction. */
export interface CallGroup {
  /** The store's time. */
  nowMs: number;
  calls: ThreadCall[];
}

/** `name` is an operation's, or `noun.method` of a keeper. */
export interface ThreadCall {
  name: string;
  parameters: readonly unknown[];
  /** Its place in `slots`; null: the caller waits however long it takes. */
  slot: number | null;
}

/** States of a slot. */
export const slotState = { waiting: 0, begun: 1, abandoned: 2 } as const;

/** Answers come in the order of the groups: one outcome for each call, or the failure of all. */
export type GroupAnswer = { outcomes: Outcome[]; hasWritten: boolean } | { failure: Failure };

export type Outcome = { value: unknown } | { failure: Failure } | "timeout";

/** An error on its way between threads. */
export interface Failure {
  message: Reason;
  /** Set when it is a fault. */
  fault: FaultCode | null;
  /** SQLite's name of the error, "" when it is none of SQLite's. */
  code: string;
  fields?: FieldFault[] | undefined;
  retryAfterSeconds?: number | undefined;
}

/** The code of a write whose sync failed: what of it is on disk nobody knows. */
export const failedSync = "SYNC_FAILED";

export function failureOf(error: unknown): Failure {
  if (error instanceof Fault) {
    const { reason, code, fields, retryAfterSeconds } = error;
    return { message: reason, fault: code, code: codeOf(error.cause), fields, retryAfterSeconds };
  }
  return { message: messageOf(error), fault: null, code: codeOf(error) };
}

export function errorOf({ message, fault, code, fields, retryAfterSeconds }: Failure): Error {
  const cause = code === "" ? undefined : Object.assign(new Error(renderReason(message)), { code });
  if (fault === null) return cause ?? new Error(renderReason(message));
  return new Fault(fault, message, {
    ...(cause === undefined ? {} : { cause }),
    ...(fields === undefined ? {} : { fields }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}
