import { Fault } from "../../errors.ts";
import type { Reason } from "../../reason/reason.ts";
import type { Database, Dialect, Violation } from "./dialect.ts";
import type { Execute } from "./kysely-dialect.ts";

/** Where keepers run their queries: an open transaction, or connections on which every statement is its own. */
export interface Scope {
  db: Database;
  /** Runs a query whose text is already compiled. */
  execute: Execute;
  dialect: Dialect;
}

/** Converts a violated constraint into the error message for the caller. */
export async function orFault<T>(
  dialect: Dialect,
  work: Promise<T>,
  sentences: Partial<Record<Violation, Reason>>,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const violation = dialect.violationOf(error);
    const sentence = violation === null ? undefined : sentences[violation];
    if (sentence === undefined) throw error;
    throw new Fault(violation === "duplicate" ? "conflict" : "not_found", sentence, { cause: error });
  }
}
