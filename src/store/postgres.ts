import { Kysely, type QueryResult } from "kysely";
import pg from "pg";
import { Fault, messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import { type Database, postgresDialect } from "./dialect.ts";
import type { Engine } from "./engine.ts";
import { dialectOver, type Execute, type Query } from "./kysely-dialect.ts";
import { migrate } from "./migrate.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { faultOf } from "./postgres-fault.ts";
import { buildPostgresLocks } from "./postgres-lock.ts";
import { storable } from "./row.ts";
import type { Schema } from "./schema.ts";
import type { Scope } from "./scope.ts";

/** A database that is away is told within this time. */
const connectTimeoutMs = 3_000;
const statementTimeoutMs = 10_000;
/** For a server that is there but silent: then only we can end the wait. */
const answerTimeoutMs = 12_000;
const shortAnswerTimeoutMs = 3_000;
/** Queries beyond this many different texts are not prepared by name, so that the server's memory stays bounded. */
const maxPreparedNames = 500;

export interface PostgresOptions {
  url: string;
  log: Log;
  poolSize: number;
}

/**
 * Durable means that a commit answers once it is on disk: synchronous_commit is asked for, whatever the server's
 * default. Connections that break are replaced by the pool at the next use.
 */
export async function openPostgres({ url, log, poolSize }: PostgresOptions): Promise<Engine> {
  const settings: pg.ClientConfig = {
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: "slipway",
    options: "-c synchronous_commit=on",
    keepAlive: true,
    types: { getTypeParser: parserOf },
  };
  await migrateAlone(settings);
  const pool = new pg.Pool({
    ...settings,
    max: poolSize,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
  });
  // A connection may break at any moment, also while nobody uses it: without a listener that would end the process.
  pool.on("error", (error) => log.warn({ reason: messageOf(error) }, "a database connection broke"));
  pool.on("connect", (client) => client.on("error", () => {}));
  const locks = buildPostgresLocks({
    connect: () => connect({ ...settings, query_timeout: shortAnswerTimeoutMs }),
  });
  const connection = () => pool.connect().catch((error: unknown) => Promise.reject(faultOf(error)));

  const execute: Execute = (query) => run(pool, query);
  const db = databaseOver(execute);
  const scope: Scope = {
    db,
    lists: db,
    execute,
    dialect: postgresDialect,
    transact: async (work) => inTransaction(await connection(), work),
  };
  return {
    scope,
    description: describe(url),
    async now() {
      const { rows } = await run<{ now: number }>(pool, {
        sql: "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
        parameters: [],
      });
      return new Date(rows[0]?.now ?? Number.NaN);
    },
    async check() {
      const query = { text: "select 1", query_timeout: shortAnswerTimeoutMs };
      await pool.query(query).catch((error: unknown) => Promise.reject(faultOf(error)));
    },
    lockAcrossInstances: locks.acquire,
    async close() {
      await locks.close();
      await untilIdle(pool);
      await pool.end();
    },
  };
}

/** The pool itself would drop those who wait for a connection. */
async function untilIdle(pool: pg.Pool): Promise<void> {
  const endAt = performance.now() + answerTimeoutMs;
  while (pool.waitingCount > 0 || pool.idleCount < pool.totalCount) {
    if (performance.now() > endAt) return;
    await Bun.sleep(5);
  }
}

type Queryable = Pick<pg.Pool, "query"> | Pick<pg.ClientBase, "query">;

const preparedNames = new Map<string, string>();

function nameOf(text: string): string | undefined {
  const known = preparedNames.get(text);
  if (known !== undefined || preparedNames.size >= maxPreparedNames) return known;
  const name = `slipway-${preparedNames.size}`;
  preparedNames.set(text, name);
  return name;
}

async function run<R>(target: Queryable, { sql, parameters }: Query): Promise<QueryResult<R>> {
  const name = nameOf(sql);
  const query = { text: sql, values: storable(parameters), ...(name === undefined ? {} : { name }) };
  try {
    const { rows, rowCount } = await (target as pg.ClientBase).query(query);
    return { rows: (rows ?? []) as R[], numAffectedRows: BigInt(rowCount ?? 0) };
  } catch (error) {
    throw faultOf(error);
  }
}

function databaseOver(execute: Execute): Database {
  return new Kysely<Schema>({ dialect: dialectOver(postgresDialect.name, execute) });
}

async function inTransaction<T>(client: pg.PoolClient, work: (scope: Scope) => Promise<T>): Promise<T> {
  try {
    await run(client, { sql: "begin", parameters: [] });
    const value = await work(innerScope(client));
    await run(client, { sql: "commit", parameters: [] });
    client.release();
    return value;
  } catch (error) {
    if (error instanceof Fault && error.code === "unavailable") client.release(true);
    else await rollBackAndRelease(client);
    throw error;
  }
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

async function connect(settings: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(settings);
  client.on("error", () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw faultOf(error);
  }
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

const bigintType = 20;
const numericType = 1700;
/** Ids, times and counts are safe integers in JavaScript; sums of them come as numeric. */
function parserOf(type: number, format?: "text" | "binary"): (value: string) => unknown {
  if (type === bigintType || type === numericType) return Number;
  return pg.types.getTypeParser(type, format ?? "text") as (value: string) => unknown;
}

function describe(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `PostgreSQL ${hostname}:${port || "5432"}${pathname}`;
}
