import { Kysely } from "kysely";
import pg from "pg";
import { Fault, messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { migrate } from "../migrations/migrate.ts";
import { type Database, postgresDialect } from "../query/dialect.ts";
import type { Engine } from "../query/engine.ts";
import { dialectOver, type Execute, type Query } from "../query/kysely-dialect.ts";
import { runMadeUnit, runQueries } from "../query/made-unit.ts";
import type { Schema } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { buildWriteCheck, probeWrite } from "../query/write-check.ts";
import { buildDatabaseClock } from "./database-clock.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { connect, run, settingsOf } from "./postgres-client.ts";
import { cannotWrite, faultOf, wasLost } from "./postgres-fault.ts";
import { buildPostgresLocks } from "./postgres-lock.ts";

const statementTimeoutMs = 10_000;
/** For a server that is there but silent: then only we can end the wait. */
const answerTimeoutMs = 12_000;
const shortAnswerTimeoutMs = 3_000;
/** A process that hangs inside a transaction loses it after this long, with the locks that others wait for. */
const idleTransactionTimeoutMs = 10_000;
/** Reads are safe to repeat. Queries that lock rows are used only inside a transaction. */
const reads = /^(?:select|with) /;

export interface PostgresOptions {
  url: string;
  log: Log;
  poolSize: number;
}

/** Connections that break are replaced by the pool at the next use. */
export async function openPostgres({ url, log, poolSize }: PostgresOptions): Promise<Engine> {
  const settings = settingsOf(url);
  await migrateAlone(settings);
  const pool = new pg.Pool({
    ...settings,
    max: poolSize,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    idle_in_transaction_session_timeout: idleTransactionTimeoutMs,
  });
  // A connection may break at any moment, also while nobody uses it: without a listener that would end the process.
  pool.on("error", (error) => log.warn({ reason: messageOf(error) }, "a database connection broke"));
  pool.on("connect", (client) => client.on("error", () => {}));
  /** A lost connection leaves the pool, so that after this many attempts only new ones are left. */
  async function overLostConnections<T>(work: () => Promise<T>): Promise<T> {
    for (let lost = 0; ; lost++) {
      try {
        return await work();
      } catch (error) {
        if (lost === poolSize || !wasLost(error)) throw faultOf(error);
      }
    }
  }
  /** Nothing has been done when a transaction cannot begin, so the next connection is tried. */
  const begun = (sql: string) =>
    overLostConnections(async () => {
      const client = await pool.connect();
      const query = { text: sql, query_timeout: shortAnswerTimeoutMs };
      try {
        return { client, answers: await client.query(query) };
      } catch (error) {
        client.release(true);
        throw error;
      }
    });
  const runLocked = buildPostgresLocks({
    async tryBegin(name) {
      const lock = `select pg_try_advisory_xact_lock(hashtextextended(${pg.escapeLiteral(name)}, 0)) as done`;
      const { client, answers } = await begun(`begin; ${lock}`);
      const [, answer] = answers as unknown as pg.QueryResult<{ done: boolean }>[];
      if (answer?.rows[0]?.done === true) return client;
      await rollBackAndRelease(client);
      return null;
    },
    finish: inTransaction,
  });

  const clock = await buildDatabaseClock(() => timeOf(pool));
  const execute: Execute = <R>(query: Query) =>
    reads.test(query.sql)
      ? overLostConnections(() => run<R>(pool, query))
      : writes.watch(run<R>(pool, query));
  const db = databaseOver(execute);
  const scope: Scope = {
    db,
    lists: db,
    execute,
    executeTogether: (unit) => runMadeUnit(scope, unit),
    dialect: postgresDialect,
    transact: async (work) => {
      const { client } = await begun("begin");
      return writes.watch(inTransaction(client, () => work(innerScope(client))));
    },
  };
  const writes = buildWriteCheck({
    isRefusal: cannotWrite,
    // The free space of a PostgreSQL server is unknown: only a failed write shows that it is full.
    space: async () => "enough",
    probe: () => probeWrite(scope),
  });
  return {
    scope,
    description: describe(url),
    now: async () => clock.now(),
    async check() {
      const query = { text: "select 1", query_timeout: shortAnswerTimeoutMs };
      await pool.query(query).catch((error: unknown) => Promise.reject(faultOf(error)));
      return writes.problem();
    },
    version: () => null,
    runLocked: (name, waitMs, work) =>
      writes.watch(runLocked(name, waitMs, (client) => work(innerScope(client)))),
    async close() {
      await untilIdle(pool);
      await pool.end();
    },
  };
}

async function timeOf(pool: pg.Pool): Promise<number> {
  const sql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now";
  const { rows } = await run<{ now: number }>(pool, { sql, parameters: [] });
  return rows[0]?.now ?? Number.NaN;
}

/** The pool itself would drop those who wait for a connection. */
async function untilIdle(pool: pg.Pool): Promise<void> {
  const endAt = performance.now() + answerTimeoutMs;
  while (pool.waitingCount > 0 || pool.idleCount < pool.totalCount) {
    if (performance.now() > endAt) return;
    await Bun.sleep(5);
  }
}

function databaseOver(execute: Execute): Database {
  return new Kysely<Schema>({ dialect: dialectOver(postgresDialect.name, execute) });
}

/** Runs `work` in the open transaction of `client`, and ends the transaction. */
async function inTransaction<T>(
  client: pg.PoolClient,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  try {
    const value = await work(client);
    await commit(client);
    client.release();
    return value;
  } catch (error) {
    if (error instanceof Fault && error.code === "unavailable") client.release(true);
    else await rollBackAndRelease(client);
    throw error;
  }
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

function innerScope(client: pg.PoolClient): Scope {
  // Keepers may be asked side by side, but one connection takes one query at a time.
  const inTurn = oneAtATime();
  const execute: Execute = (query) => inTurn(() => run(client, query));
  const db = databaseOver(execute);
  const scope: Scope = {
    db,
    lists: db,
    execute,
    // A query that fails ends the whole transaction, or its innermost part, so the unit needs no part of its own.
    executeTogether: (unit) => runQueries(execute, unit),
    dialect: postgresDialect,
    async transact(work) {
      const command = (sql: string) => execute({ sql, parameters: [] });
      await command("savepoint part");
      try {
        const value = await work(scope);
        await command("release part");
        return value;
      } catch (error) {
        await command("rollback to part");
        await command("release part");
        throw error;
      }
    },
  };
  return scope;
}

/** The lock is held by the connection, so that it ends with a process that dies during a migration. */
async function migrateAlone(settings: pg.ClientConfig): Promise<void> {
  const client = await connect(settings);
  try {
    await client.query("select pg_advisory_lock(hashtextextended('slipway migrations', 0))");
    await client.query("begin");
    await migrate(
      databaseOver((query) => run(client, query)),
      postgresDialect,
    );
    await client.query("commit");
  } finally {
    await client.end().catch(() => {});
  }
}

function describe(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `PostgreSQL ${hostname}:${port || "5432"}${pathname}`;
}
