import pg from "pg";
import { Fault } from "../../errors.ts";
import type { OperationKeepers } from "../../model/store.ts";
import { buildKeepers } from "../keepers/keepers.ts";
import { buildUpkeep, type Upkeep } from "../keepers/upkeep.ts";
import { postgresDialect } from "../query/dialect.ts";
import { databaseOver, type Execute } from "../query/kysely-dialect.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { run } from "./postgres-client.ts";
import { faultOf, isLockTimeout } from "./postgres-fault.ts";

export type TransactionKeepers = OperationKeepers & { upkeep: Upkeep };

/** A lock over all instances; it ends with the transaction. */
export interface TransactionLock {
  name: string;
  /** On the clock of `performance.now()`. */
  waitUntilMs: number;
}

/** Runs `work` in one transaction on one connection; "timeout" when its lock was not free in time. */
export type Transact = <T>(
  lock: TransactionLock | null,
  work: (keepers: TransactionKeepers) => Promise<T>,
) => Promise<T | "timeout">;

/**
 * `retried` repeats what did nothing because its connection was already lost. A connection is cut when the server has not
 * answered a transaction within `timeoutMs`, beside the wait for its lock.
 */
export function buildTransact(
  pool: pg.Pool,
  retried: <T>(work: () => Promise<T>) => Promise<T>,
  timeoutMs: number,
): Transact {
  /** The keepers of a connection serve one transaction after another. */
  const keepersOf = new WeakMap<pg.PoolClient, { keepers: TransactionKeepers; setTime(now: Date): void }>();
  const keepersFor = (client: pg.PoolClient) => {
    const known = keepersOf.get(client) ?? buildTransactionKeepers(client);
    keepersOf.set(client, known);
    return known;
  };

  /** Begin, lock and time are one round trip. */
  async function begin(lock: TransactionLock | null): Promise<Begun> {
    const client = await pool.connect();
    const waitMs = lock === null ? 0 : Math.max(1, Math.ceil(lock.waitUntilMs - performance.now()));
    const timer = setTimeout(() => cut(client), waitMs + timeoutMs);
    try {
      const results = await client.query(
        ["begin", ...(lock === null ? [] : lockStatements(lock.name, waitMs)), timeStatement].join("; "),
      );
      const last = (results as unknown as pg.QueryResult<{ now: number }>[]).at(-1);
      return { client, timer, now: new Date(last?.rows[0]?.now ?? Number.NaN) };
    } catch (error) {
      clearTimeout(timer);
      if (isLockTimeout(error)) await rollBackAndRelease(client);
      else client.release(true);
      throw error;
    }
  }

  return async (lock, work) => {
    const begun = await retried(() => begin(lock)).catch((error: unknown) => {
      if (isLockTimeout(error)) return "timeout" as const;
      throw error;
    });
    if (begun === "timeout") return begun;
    const { client, now, timer } = begun;
    try {
      const { keepers, setTime } = keepersFor(client);
      setTime(now);
      const value = await work(keepers);
      await commit(client);
      client.release();
      return value;
    } catch (error) {
      if (error instanceof Fault && error.code === "unavailable") client.release(true);
      else await rollBackAndRelease(client);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

interface Begun {
  client: pg.PoolClient;
  now: Date;
  timer: ReturnType<typeof setTimeout>;
}

/** What waits for the connection then fails as after a loss of the network. */
function cut(client: pg.PoolClient): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
  connection.stream.destroy();
}

const timeStatement = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now";

/** The time limit is for the advisory lock alone: rows that a transaction locks later have that of statements. */
function lockStatements(name: string, waitMs: number): string[] {
  return [
    `set local lock_timeout = ${waitMs}`,
    `select pg_advisory_xact_lock(hashtextextended(${pg.escapeLiteral(name)}, 0))`,
    "set local lock_timeout = 0",
  ];
}

function buildTransactionKeepers(client: pg.PoolClient) {
  // Keepers may be asked side by side, but one connection takes one query at a time.
  const inTurn = oneAtATime();
  const execute: Execute = (query) => inTurn(() => run(client, query));
  const scope = { db: databaseOver(postgresDialect, execute), execute, dialect: postgresDialect };
  let time = new Date(0);
  return {
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
