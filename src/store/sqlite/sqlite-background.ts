import { Fault } from "../../errors.ts";
import { oneAtATime } from "../postgres/one-at-a-time.ts";
import type { Query, QueryAnswer } from "../query/kysely-dialect.ts";
import { buildSqliteThread } from "./sqlite-thread.ts";

/** Queries that wait for the thread; more are refused. */
const maxWaiting = 1_000;
const limits = {
  /** A list that takes longer is given up, with the thread that runs it. Those behind it go on with another. */
  timeoutMs: 30_000,
  /** Whoever has waited this long for its turn is refused: nobody waits for the answer any more. */
  maxWaitMs: 60_000,
};

/** It checkpoints, so it cannot be opened for reading only; but what it wrote nobody would sync. */
const pragmas = ["pragma busy_timeout = 1000", "pragma query_only = on"];

/** Runs what may take long on a thread, so that it does not hold the loop. */
export interface SqliteBackground {
  execute<R>(query: Query): Promise<QueryAnswer<R>>;
  close(): Promise<void>;
}

export function buildSqliteBackground(
  file: string,
  { timeoutMs, maxWaitMs }: typeof limits = limits,
): SqliteBackground {
  const thread = buildSqliteThread({ file, pragmas });
  const inTurn = oneAtATime();
  let waiting = 0;
  let isClosed = false;

  /** Only while the thread has the query: what waited behind a slow one is not slow itself. */
  async function inTime<R>(query: Query): Promise<QueryAnswer<R>> {
    const timer = setTimeout(() => {
      void thread.stop(`A list took longer than ${timeoutMs / 1000} s.`);
    }, timeoutMs);
    try {
      return await thread.execute<R>(query);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async execute<R>(query: Query): Promise<QueryAnswer<R>> {
      if (waiting >= maxWaiting) throw tooMany();
      waiting++;
      const refusedAt = performance.now() + maxWaitMs;
      try {
        return await inTurn(async () => {
          if (isClosed) throw new Fault("unavailable", "The database is closed.");
          if (performance.now() > refusedAt) throw tooMany();
          return inTime<R>(query);
        });
      } finally {
        waiting--;
      }
    },
    close() {
      isClosed = true;
      return thread.stop("The database is closed.");
    },
  };
}

function tooMany(): Fault {
  return new Fault("unavailable", "Too many lists wait for the database.", { retryAfterSeconds: 1 });
}
