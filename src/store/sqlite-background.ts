import { Worker } from "node:worker_threads";
import type { QueryResult } from "kysely";
import { Fault, messageOf } from "../errors.ts";
import type { Query } from "./kysely-dialect.ts";

/** Queries that wait for the thread; more are refused. */
const maxWaiting = 1_000;
/** A list that takes longer is given up, with the thread that ran it. */
const timeoutMs = 30_000;

interface Request {
  id: number;
  sql: string;
  parameters: readonly unknown[];
}

interface Answer {
  id: number;
  rows?: object[];
  error?: string;
}

interface Waiting {
  resolve: (rows: object[]) => void;
  reject: (error: Fault) => void;
  timer: ReturnType<typeof setTimeout>;
}

/** Runs what may take long on a thread with a connection of its own: SQLite holds the thread that calls it. */
export interface SqliteBackground {
  execute<R>(query: Query): Promise<QueryResult<R>>;
  close(): Promise<void>;
}

/** The thread starts at the first use. */
export function buildSqliteBackground(file: string): SqliteBackground {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | null = null;
  let lastId = 0;

  const settle = (id: number, apply: (entry: Waiting) => void) => {
    const entry = waiting.get(id);
    if (entry === undefined) return;
    waiting.delete(id);
    clearTimeout(entry.timer);
    apply(entry);
  };
  const stop = (reason: string) => {
    void thread?.terminate();
    thread = null;
    for (const id of [...waiting.keys()])
      settle(id, ({ reject }) => reject(new Fault("unavailable", reason, { retryAfterSeconds: 1 })));
  };
  const start = () => {
    // As text, so that the thread also starts inside the compiled program, which has no files of its own.
    const worker = new Worker(`(${serveQueries.toString()})(${JSON.stringify(file)})`, { eval: true });
    worker.on("message", ({ id, rows, error }: Answer) =>
      settle(id, ({ resolve, reject }) => {
        if (rows !== undefined) resolve(rows);
        else reject(new Fault("unavailable", `The database could not be read: ${error}`));
      }),
    );
    worker.on("error", (error) => stop(`The database could not be read: ${messageOf(error)}`));
    worker.unref();
    return worker;
  };

  return {
    async execute<R>({ sql, parameters }: Query): Promise<QueryResult<R>> {
      if (waiting.size >= maxWaiting)
        throw new Fault("unavailable", "Too many lists wait for the database.", { retryAfterSeconds: 1 });
      thread ??= start();
      const id = ++lastId;
      const worker = thread;
      const rows = await new Promise<object[]>((resolve, reject) => {
        const timer = setTimeout(() => stop(`A list took longer than ${timeoutMs / 1000} s.`), timeoutMs);
        waiting.set(id, { resolve, reject, timer });
        worker.postMessage({ id, sql, parameters } satisfies Request);
      });
      return { rows: rows as R[] };
    },
    async close() {
      const worker = thread;
      stop("The database is closed.");
      await worker?.terminate();
    },
  };
}

/**
 * The thread's whole program: it is handed over as text and must use nothing from outside of itself. Statements are not
 * kept: a list is not worth the memory, and the thread is restarted when one takes too long.
 */
async function serveQueries(path: string): Promise<void> {
  const { Database } = await import("bun:sqlite");
  const { parentPort } = await import("node:worker_threads");
  const database = new Database(path, { readwrite: true });
  database.run("pragma busy_timeout = 1000");
  parentPort?.on("message", ({ id, sql, parameters }: Request) => {
    try {
      const statement = database.prepare(sql);
      const rows = statement.all(...(parameters as string[]));
      statement.finalize();
      parentPort?.postMessage({ id, rows });
    } catch (error) {
      parentPort?.postMessage({ id, error: String(error) });
    }
  });
}
