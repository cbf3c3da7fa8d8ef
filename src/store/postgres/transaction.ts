import pg from "pg";
import { Fault } from "../../errors.ts";
import type { OperationKeepers } from "../../model/store.ts";
import { buildKeepers } from "../keepers/keepers.ts";
import { buildUpkeep, type Upkeep } from "../keepers/upkeep.ts";
import { postgresDialect } from "../query/dialect.ts";
import { databaseOver, type Execute } from "../query/kysely-dialect.ts";
import { answerTimeoutMs, run } from "./postgres-client.ts";
import { faultOf, isLockTimeout } from "./postgres-fault.ts";

export type TransactionKeepers = OperationKeepers & { upkeep: Upkeep };

/** A lock over all instances; it ends with the transaction. */
export interface TransactionLock {
  name: string;
  /** On the clock of `performance.now()`. */
  waitUntilMs: number;
}

/** Runs `work` in one transaction on one connection; "timeout": its lock was not free in time. */
export type Transact = <T>(
  lock: TransactionLock | null,
  work: (keepers: TransactionKeepers) => Promise<T>,
) => Promise<T | "timeout">;

/** `retried` repeats a begin that did nothing because its connection was already lost. */
export function buildTransact(pool: pg.Pool, retried: <T>(work: () => Promise<T>) => Promise<T>): Transact {
  async function begin(lock: TransactionLock | null): Promise<Begun | "timeout"> {
    const client = await pool.connect();
    try {
      return { client, time: await beginOn(client, lock) };
    } catch (error) {
      if (isLockTimeout(error)) {
        await rollBackAndRelease(client);
        return "timeout";
      }
      client.release(true);
      throw error;
    }
  }

  return async (lock, work) => {
    const begun = await retried(() => begin(lock));
    if (begun === "timeout") return begun;
    const { client } = begun;
    try {
      const value = await work(keepersOf(begun));
      await commit(client);
      client.release();
      return value;
    } catch (error) {
      if (error instanceof Fault && error.code === "unavailable") client.release(true);
      else await rollBackAndRelease(client);
      throw error;
    }
  };
}

interface Begun {
  client: pg.PoolClient;
  time: Date;
}

function keepersOf({ client, time }: Begun): TransactionKeepers {
  const execute: Execute = (query) => run(client, query, answerTimeoutMs);
  const scope = { db: databaseOver(postgresDialect, execute), execute, dialect: postgresDialect };
  return { ...buildKeepers(scope), upkeep: buildUpkeep(scope), now: () => time };
}

/**
 * Begins, waits for the lock and reads the time in one round trip. Each statement of the text sees what was committed
 * before it, so the work sees all that the earlier holder of the lock wrote. The time limit is for the advisory lock
 * alone: rows that the transaction locks later have that of statements.
 */
async function beginOn(client: pg.PoolClient, lock: TransactionLock | null): Promise<Date> {
  const waitMs = lock === null ? 0 : Math.max(1, Math.ceil(lock.waitUntilMs - performance.now()));
  const locking =
    lock === null
      ? ""
      : `set local lock_timeout = ${waitMs};
        select pg_advisory_xact_lock(hashtextextended(${pg.escapeLiteral(lock.name)}, 0));
        set local lock_timeout = 0;`;
  const text = `begin; ${locking} select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`;
  const query = { text, query_timeout: waitMs + answerTimeoutMs };
  const answers = (await client.query(query)) as unknown as pg.QueryResult<{ now: number }>[];
  return new Date(answers.at(-1)?.rows[0]?.now ?? Number.NaN);
}

/** A transaction in which a statement failed ends undone, and PostgreSQL says so only in the name of its answer. */
async function commit(client: pg.PoolClient): Promise<void> {
  const query = { text: "commit", query_timeout: answerTimeoutMs };
  const { command } = await client.query(query).catch((error: unknown) => Promise.reject(faultOf(error)));
  if (command !== "COMMIT")
    throw new Fault("internal", "The transaction was undone, because a statement in it had failed.");
}

/** A connection that cannot even roll back is of no further use. */
async function rollBackAndRelease(client: pg.PoolClient): Promise<void> {
  const query = { text: "rollback", query_timeout: answerTimeoutMs };
  await client.query(query).then(
    () => client.release(),
    () => client.release(true),
  );
}
