import { Fault } from "../../errors.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { Database, Dialect, Violation } from "./dialect.ts";
import type { Execute } from "./kysely-dialect.ts";

/** Where keepers run their queries: an open transaction, or connections on which every statement is its own. */
export interface Scope {
  db: Database;
  /** Runs a query whose text is already compiled. */
  execute: Execute;
  dialect: Dialect;
}

export type Sentences = Partial<Record<Violation, Reason>> & {
  /** The field of a request that had to be unique. */
  unique?: string;
};

/** Converts a violated constraint into the error message for the caller. */
export async function orFault<T>(
  dialect: Dialect,
  work: Promise<T>,
  { unique, ...sentences }: Sentences,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const violation = dialect.violationOf(error);
    const sentence = violation === null ? undefined : sentences[violation];
    if (sentence === undefined) throw error;
    if (violation !== "duplicate") throw new Fault("not_found", sentence, { cause: error });
    const fields = unique === undefined ? {} : { fields: [{ field: unique, message: newReason("taken") }] };
    throw new Fault("conflict", sentence, { cause: error, ...fields });
  }
}
