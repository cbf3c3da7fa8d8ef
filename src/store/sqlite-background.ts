import type { QueryResult } from "kysely";
import { Fault } from "../errors.ts";
import type { Query } from "./kysely-dialect.ts";
import { buildSqliteThread } from "./sqlite-thread.ts";

/** Queries that wait for the thread; more are refused. */
const maxWaiting = 1_000;
/** A list that takes longer is given up, with the thread that ran it. */
const timeoutMs = 30_000;

/** It checkpoints, so it cannot be opened for reading only; but what it wrote nobody would sync. */
const pragmas = ["pragma busy_timeout = 1000", "pragma query_only = on"];

/** Runs what may take long on a thread, so that it does not hold the loop. */
export interface SqliteBackground {
  execute<R>(query: Query): Promise<QueryResult<R>>;
  close(): Promise<void>;
}

export function buildSqliteBackground(file: string): SqliteBackground {
  const thread = buildSqliteThread({ file, pragmas });
  let waiting = 0;

  return {
    async execute<R>(query: Query): Promise<QueryResult<R>> {
      if (waiting >= maxWaiting)
        throw new Fault("unavailable", "Too many lists wait for the database.", { retryAfterSeconds: 1 });
      waiting++;
      const timer = setTimeout(() => {
        void thread.stop(`A list took longer than ${timeoutMs / 1000} s.`);
      }, timeoutMs);
      try {
        return await thread.execute<R>(query);
      } finally {
        clearTimeout(timer);
        waiting--;
      }
    },
    close: () => thread.stop("The database is closed."),
  };
}
