import pg from "pg";
import { Fault, messageOf } from "../errors.ts";

/**
 * Classes of SQLSTATE that mean "not now": connection, sign-in, no such database, resources, operator intervention,
 * system; and codes of those who must try again.
 */
const awayClasses = ["08", "28", "3D", "53", "57", "58"];
const retryCodes = ["40001", "40P01", "25006"];

/** Tells a database that is away or busy, which callers may try again, from a bug or a broken rule. */
export function faultOf(error: unknown): unknown {
  if (error instanceof Fault || !isAway(error)) return error;
  return new Fault("unavailable", `The database is not available: ${messageOf(error)}`, {
    cause: error,
    retryAfterSeconds: 1,
  });
}

function isAway(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return error instanceof Error && !(error instanceof TypeError);
  const code = error.code ?? "";
  return awayClasses.includes(code.slice(0, 2)) || retryCodes.includes(code);
}
