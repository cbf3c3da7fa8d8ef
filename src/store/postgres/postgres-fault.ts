import pg from "pg";
import { Fault, messageOf } from "../../errors.ts";
import { codeOf } from "../query/error-code.ts";

/**
 * Classes of SQLSTATE that mean "not now" (connection, sign-in, missing database, resources, operator intervention,
 * system), and codes of transactions that must be repeated.
 */
const awayClasses = ["08", "28", "3D", "53", "57", "58"];
const retryCodes = ["40001", "40P01", "25006"];

/**
 * Distinguishes an unreachable or busy database, for which callers may try again, from a bug or a violated constraint.
 */
export function faultOf(error: unknown): unknown {
  if (error instanceof Fault || !isAway(error)) return error;
  return new Fault("unavailable", `The database is not available: ${messageOf(error)}`, {
    cause: error,
    retryAfterSeconds: 1,
  });
}

/** Ended by an operator, by a crash of another backend, or by the network. */
const lostCodes = ["57P01", "57P02", "ECONNRESET", "EPIPE"];
/** `pg` reports a lost connection only by these messages, without a code. */
const lostMessages = /^(?:Connection terminated|Client has encountered a connection error|Client was closed)/;

/** Whether the connection was lost, for example an idle one after a server restart. A new connection may work. */
export function wasLost(error: unknown): boolean {
  const thrown = error instanceof Fault ? error.cause : error;
  return lostCodes.includes(codeOf(thrown)) || lostMessages.test(messageOf(thrown));
}

/** Whether a lock was not free within `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === "55P03";
}

/** Full disk, disk failure, read-only server. */
const unwritableCodes = ["53100", "58030", "25006"];

export function cannotWrite(error: unknown): boolean {
  return unwritableCodes.includes(codeOf(error instanceof Fault ? error.cause : error));
}

function isAway(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return error instanceof Error && !(error instanceof TypeError);
  const code = error.code ?? "";
  return awayClasses.includes(code.slice(0, 2)) || retryCodes.includes(code);
}
