import { Worker } from "node:worker_threads";
import { Fault, messageOf } from "../../errors.ts";
import type { Query, QueryAnswer } from "../query/kysely-dialect.ts";
import type { MadeUnit } from "../query/scope.ts";
import { encodeUnits, type UnitMessage } from "./unit-message.ts";

export interface ThreadData {
  file: string;
  pragmas: readonly string[];
}

/** A query to run, or the message of units to write. Answers come in the order of the requests. */
export type ThreadRequest = Query | UnitMessage;

/** What a query answered, the JSON of `UnitAnswer[]`, or why there is neither. */
export type ThreadAnswer = QueryAnswer | string | { failure: Failure };

/** The code of a write whose sync failed: what of it is on disk nobody knows. */
export const failedSync = "SYNC_FAILED";

export interface Failure {
  message: string;
  /** SQLite's name of the error, "" when it is none of SQLite's. */
  code: string;
}

export type UnitAnswer = { answers: QueryAnswer[] } | { failure: Failure };

export type UnitOutcome = { answers: QueryAnswer[] } | { error: Error };

/** A thread with a connection of its own: SQLite holds the thread that calls it. It starts at the first use. */
export interface SqliteThread {
  execute<R>(query: Query): Promise<QueryAnswer<R>>;
  /** Writes the units in one transaction, and answers when that is on disk: for each unit what came out. */
  write(units: readonly MadeUnit[]): Promise<UnitOutcome[]>;
  /** Ends the thread; whoever waits for an answer of it gets `reason`. The next use starts another. */
  stop(reason: string): Promise<void>;
}

interface Waiting {
  resolve: (answer: ThreadAnswer) => void;
  reject: (error: Fault) => void;
}

export function buildSqliteThread(data: ThreadData): SqliteThread {
  let waiting: Waiting[] = [];
  let thread: Worker | null = null;

  async function stop(reason: string): Promise<void> {
    const ended = thread?.terminate();
    const left = waiting;
    thread = null;
    waiting = [];
    for (const { reject } of left) reject(new Fault("unavailable", reason, { retryAfterSeconds: 1 }));
    await ended;
  }

  function start(): Worker {
    const worker = new Worker(programPath, { workerData: data });
    worker.on("message", (answer: ThreadAnswer) => {
      if (worker !== thread) return;
      waiting.shift()?.resolve(answer);
      if (waiting.length === 0) worker.unref();
    });
    worker.on("error", (error) => {
      if (worker === thread) void stop(`The database failed: ${messageOf(error)}`);
    });
    return worker;
  }

  async function ask(request: ThreadRequest): Promise<ThreadAnswer> {
    thread ??= start();
    const worker = thread;
    // Only what is waited for keeps the process running.
    if (waiting.length === 0) worker.ref();
    const answer = await new Promise<ThreadAnswer>((resolve, reject) => {
      waiting.push({ resolve, reject });
      worker.postMessage(request);
    });
    if (typeof answer === "object" && "failure" in answer) throw errorOf(answer.failure);
    return answer;
  }

  return {
    async execute<R>({ sql, parameters }: Query): Promise<QueryAnswer<R>> {
      const answer = await ask({ sql, parameters });
      return answer as QueryAnswer<R>;
    },
    async write(units) {
      const answer = await ask(encodeUnits(units));
      return typeof answer === "string" ? (JSON.parse(answer) as UnitAnswer[]).map(outcomeOf) : [];
    },
    stop,
  };
}

/** In the compiled program a module lies below its root by the name that it has below `src`. */
const programPath = import.meta.url.includes("/$bunfs/")
  ? "./store/sqlite/sqlite-thread-program.ts"
  : new URL("./sqlite-thread-program.ts", import.meta.url);

function outcomeOf(answer: UnitAnswer): UnitOutcome {
  return "failure" in answer ? { error: errorOf(answer.failure) } : answer;
}

/** As SQLite's own error reads, so that the dialect knows it. */
function errorOf({ message, code }: Failure): Error {
  return Object.assign(new Error(message), { code });
}
