import { Fault, messageOf } from "../errors.ts";
import { codeOf } from "./dialect.ts";

/** Classes of SQLSTATE that mean "not now": connection, resources, operator intervention, system; and who must retry. */
const awayClasses = ["08", "53", "57", "58"];
const retryCodes = ["40001", "40P01", "25006"];

/** Tells a database that is away or busy, which callers may try again, from a bug or a broken rule. */
export function faultOf(error: unknown): unknown {
  const code = codeOf(error);
  const isSqlState = /^[0-9A-Z]{5}$/.test(code);
  const isAway = isSqlState
    ? awayClasses.includes(code.slice(0, 2)) || retryCodes.includes(code)
    : error instanceof Error && !(error instanceof TypeError);
  if (!isAway) return error;
  return new Fault("unavailable", `The database does not answer: ${messageOf(error)}`, {
    cause: error,
    retryAfterSeconds: 1,
  });
}
