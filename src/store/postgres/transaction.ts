import type pg from "pg";
import { Fault } from "../../errors.ts";
import type { OperationKeepers } from "../../model/store.ts";
import { buildKeepers } from "../keepers/keepers.ts";
import { buildUpkeep, type Upkeep } from "../keepers/upkeep.ts";
import { postgresDialect } from "../query/dialect.ts";
import { databaseOver, type Execute, type Query } from "../query/kysely-dialect.ts";
import { faultOf, isLockTimeout, wasLost } from "./postgres-fault.ts";
import { batchesOver } from "./statement-batch.ts";

export type TransactionKeepers = OperationKeepers & { upkeep: Upkeep };

/** A lock over all instances; it ends with the transaction. */
export interface TransactionLock {
  name: string;
  /** On the clock of `performance.now()`. */
  waitUntilMs: number;
}

type Work<T = unknown> = (keepers: TransactionKeepers) => Promise<T>;

/** Work that shares a transaction, under the lock of this name. */
export interface SharedWork {
  lockName: string;
  work: Work;
}

export interface Transactions {
  /** Runs `work` in one transaction on one connection; "timeout" when its lock was not free in time. */
  alone<T>(lock: TransactionLock | null, work: Work<T>): Promise<T | "timeout">;
  /**
   * Runs several side by side in one transaction: one commit, and the queries of all in one round trip. "alone": it was
   * not executed, because its lock is not free, or because one of them failed or waited for a row. Never waits long.
   */
  together(works: readonly SharedWork[]): Promise<({ value: unknown } | "alone")[]>;
}

/** Longest wait for a row in a transaction that others share. */
const sharedLockTimeoutMs = 100;

/**
 * `retried` repeats what did nothing because its connection was already lost. A connection is cut when the server has not
 * answered a transaction within `timeoutMs`, beside the wait for its lock.
 */
export function buildTransactions(
  pool: pg.Pool,
  retried: <T>(work: () => Promise<T>) => Promise<T>,
  timeoutMs: number,
): Transactions {
  /** The keepers of a connection serve one transaction after another. */
  const known = new WeakMap<pg.PoolClient, Connection>();
  const connectionOf = (client: pg.PoolClient) => {
    const connection = known.get(client) ?? buildConnection(client);
    known.set(client, connection);
    return connection;
  };

  /** Begin, `first` and the time are one round trip. */
  async function begin(waitMs: () => number, first: (waitMs: number) => Query[]): Promise<Begun> {
    const client = await pool.connect();
    const mayWaitMs = waitMs();
    const timer = setTimeout(() => cut(client), mayWaitMs + timeoutMs);
    const { execute, keepers, setTime } = connectionOf(client);
    try {
      const queries = [beginning, ...first(mayWaitMs), timeQuery];
      const answers = await Promise.all(queries.map((query) => execute<object>(query)));
      const [time] = (answers.at(-1)?.rows ?? []) as { now: number }[];
      setTime(new Date(time?.now ?? Number.NaN));
      return { client, timer, keepers, rows: answers.at(-2)?.rows ?? [] };
    } catch (error) {
      clearTimeout(timer);
      if (isLockTimeout(error)) await rollBackAndRelease(client);
      else client.release(true);
      throw error;
    }
  }

  /** `work` commits as its last step. */
  async function finish<T>({ client, timer }: Begun, work: () => Promise<T>): Promise<T> {
    try {
      const value = await work();
      client.release();
      return value;
    } catch (error) {
      if (error instanceof Fault && error.code === "unavailable") client.release(true);
      else await rollBackAndRelease(client);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async alone(lock, work) {
      const waitMs = () => (lock === null ? 0 : Math.max(1, Math.ceil(lock.waitUntilMs - performance.now())));
      const first = (mayWaitMs: number) => (lock === null ? [] : waitForLock(lock.name, mayWaitMs));
      const begun = await retried(() => begin(waitMs, first)).catch((error: unknown) => {
        if (isLockTimeout(error)) return "timeout" as const;
        throw error;
      });
      if (begun === "timeout") return begun;
      return finish(begun, async () => {
        const value = await work(begun.keepers);
        await commit(begun.client);
        return value;
      });
    },

    async together(works) {
      const names = works.map(({ lockName }) => lockName);
      const noWait = () => 0;
      const begun = await retried(() => begin(noWait, () => tryLocks(names)));
      const free = new Set((begun.rows as { place: number }[]).map(({ place }) => place));
      const execute = async ({ work }: SharedWork, index: number) =>
        free.has(index) ? { value: await work(begun.keepers) } : ("alone" as const);
      try {
        return await finish(begun, async () => {
          const outcomes = await Promise.allSettled(works.map(execute));
          for (const outcome of outcomes)
            if (outcome.status === "rejected")
              throw wasLost(outcome.reason) ? outcome.reason : new OneFailed();
          await commit(begun.client);
          return outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : "alone"));
        });
      } catch (error) {
        if (error instanceof OneFailed) return works.map(() => "alone" as const);
        throw error;
      }
    },
  };
}

/** One of several in a transaction failed, and with it the transaction. */
class OneFailed extends Error {}

interface Connection {
  execute: Execute;
  keepers: TransactionKeepers;
  setTime(now: Date): void;
}

interface Begun {
  client: pg.PoolClient;
  timer: ReturnType<typeof setTimeout>;
  keepers: TransactionKeepers;
  /** The answer to the last query before the time. */
  rows: object[];
}

/** What waits for the connection then fails as after a loss of the network. */
function cut(client: pg.PoolClient): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  connection.stream.destroy();
}

const plain = (sql: string): Query => ({ sql, parameters: [] });
const beginning = plain("begin");
const timeQuery = plain("select (extract(epoch from clock_timestamp()) * 1000)::bigint as now");

function lockTimeoutOf(ms: number): Query {
  return { sql: "select set_config('lock_timeout', $1, true)", parameters: [ms] };
}

/** The time limit is for the advisory lock alone: rows that a transaction locks later have that of statements. */
function waitForLock(name: string, waitMs: number): Query[] {
  return [
    lockTimeoutOf(waitMs),
    { sql: "select pg_advisory_xact_lock(hashtextextended($1, 0))", parameters: [name] },
    lockTimeoutOf(0),
  ];
}

/** Answers the places of those that it got. It waits for none, so that two groups cannot wait for each other. */
function tryLocks(names: readonly string[]): Query[] {
  const sql = `select (place - 1)::int as place from unnest($1::text[]) with ordinality as asked(name, place)
    where pg_try_advisory_xact_lock(hashtextextended(name, 0))`;
  return [lockTimeoutOf(sharedLockTimeoutMs), { sql, parameters: [names] }];
}

function buildConnection(client: pg.PoolClient): Connection {
  const execute = batchesOver(client);
  const scope = { db: databaseOver(postgresDialect, execute), execute, dialect: postgresDialect };
  let time = new Date(0);
  return {
    execute,
    keepers: { ...buildKeepers(scope), upkeep: buildUpkeep(scope), now: () => time },
    setTime(now: Date) {
      time = now;
    },
  };
}

/** A transaction in which a statement failed ends undone, and PostgreSQL says so only in the name of its answer. */
async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query("commit").catch((error: unknown) => Promise.reject(faultOf(error)));
  if (command !== "COMMIT")
    throw new Fault("internal", "The transaction was undone, because a statement in it had failed.");
}

/** A connection that cannot even roll back is of no further use. */
async function rollBackAndRelease(client: pg.PoolClient): Promise<void> {
  try {
    await client.query("rollback");
    client.release();
  } catch {
    client.release(true);
  }
}
