import { Fault } from "../../errors.ts";
import type { Database, Dialect, Violation } from "./dialect.ts";
import type { Execute, Query, QueryAnswer } from "./kysely-dialect.ts";

/** Queries that are one: all of them or none. Nothing of them depends on an answer but the ids of new rows. */
export type MadeUnit = readonly Query[];

/**
 * Where a keeper runs its queries: the whole database, or one open transaction of it. A single statement on `db` is
 * durable by itself once it has answered (outside of a transaction), several belong into `transact`.
 */
export interface Scope {
  db: Database;
  /** For lists and counts, which may take long: they must not hold the loop. */
  lists: Database;
  /** Runs a query whose text is already made. */
  execute: Execute;
  /** Runs queries whose texts and values are already made: all of them or none. */
  executeTogether(unit: MadeUnit): Promise<QueryAnswer[]>;
  dialect: Dialect;
  /** Runs `work` in one transaction; inside of another, as a part of it that is undone alone. */
  transact<T>(work: (inner: Scope) => Promise<T>): Promise<T>;
}

/** Turns a broken rule of the schema into the sentence that its caller should read. */
export async function orFault<T>(
  dialect: Dialect,
  work: Promise<T>,
  sentences: Partial<Record<Violation, string>>,
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
