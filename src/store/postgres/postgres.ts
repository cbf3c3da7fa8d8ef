import pg from "pg";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { OperationLock } from "../../model/store.ts";
import { buildKeepers } from "../keepers/keepers.ts";
import { buildUpkeep } from "../keepers/upkeep.ts";
import { migrate } from "../migrations/migrate.ts";
import { postgresDialect } from "../query/dialect.ts";
import type { Engine } from "../query/engine.ts";
import { callKeeper, kindsOf } from "../query/keeper-call.ts";
import { databaseOver, type Execute, type Query } from "../query/kysely-dialect.ts";
import { buildWriteCheck } from "../query/write-check.ts";
import { buildDatabaseClock } from "./database-clock.ts";
import { buildLockQueue } from "./lock-queue.ts";
import { answerTimeoutMs, connect, PooledClient, run, settingsOf } from "./postgres-client.ts";
import { cannotWrite, faultOf, wasLost } from "./postgres-fault.ts";
import { buildTransact, type TransactionKeepers } from "./transaction.ts";

const statementTimeoutMs = 10_000;
const shortAnswerTimeoutMs = 3_000;
/**
 * PostgreSQL ends a transaction after this time without a statement, so that a suspended process does not hold locks.
 */
const idleTransactionTimeoutMs = 10_000;
/** Reads are safe to repeat. Queries that lock rows are used only inside a transaction. */
const reads = /^(?:select|with) /;

export interface PostgresOptions {
  url: string;
  log: Logger;
  poolSize: number;
}

/** The pool replaces a broken connection at its next use. */
export async function openPostgres({ url, log, poolSize }: PostgresOptions): Promise<Engine> {
  const settings = settingsOf(url);
  await migrateAlone(settings);
  const pool = new pg.Pool({
    ...settings,
    Client: PooledClient,
    connectionTimeoutMillis: answerTimeoutMs,
    max: poolSize,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleTransactionTimeoutMs,
  });
  // A connection may break at any moment, also while idle: without a listener that would end the process.
  pool.on("error", (error) => log.warn({ reason: messageOf(error) }, "a database connection broke"));
  pool.on("connect", (client) => client.on("error", () => {}));

  /** A lost connection leaves the pool, so after this many attempts only new connections are left. */
  async function overLostConnections<T>(work: () => Promise<T>): Promise<T> {
    for (let lost = 0; ; lost++) {
      try {
        return await work();
      } catch (error) {
        if (lost === poolSize || !wasLost(error)) throw faultOf(error);
      }
    }
  }

  const execute: Execute = <R>(query: Query) =>
    reads.test(query.sql)
      ? overLostConnections(() => run<R>(pool, query, answerTimeoutMs))
      : run<R>(pool, query, answerTimeoutMs);
  const scope = { db: databaseOver(postgresDialect, execute), execute, dialect: postgresDialect };
  const keepers = buildKeepers(scope);
  const transact = buildTransact(pool, overLostConnections);
  const locks = buildLockQueue();
  const clock = await buildDatabaseClock(() => timeOf(pool));
  const writes = buildWriteCheck({
    isRefusal: cannotWrite,
    // The free space of a PostgreSQL server is unknown: only a failed write shows that it is full.
    space: async () => "enough",
    probe: () => buildUpkeep(scope).probeWrite(),
  });

  async function transactLocked(
    { name, waitMs }: OperationLock,
    work: (keepers: TransactionKeepers) => Promise<unknown>,
  ): Promise<unknown> {
    const waitUntilMs = performance.now() + waitMs;
    const release = await locks.acquire(name, waitMs);
    if (release === null) return "timeout";
    try {
      return await transact({ name, waitUntilMs }, work);
    } finally {
      release();
    }
  }

  return {
    description: describe(url),
    isShared: true,
    kinds: kindsOf(keepers),
    async call(call) {
      const answer =
        call.kind === "change"
          ? transact(null, (inside) => callKeeper(inside, call))
          : callKeeper(keepers, call);
      return writes.watch(answer);
    },
    async run(operation, input, lock) {
      const work = (inside: TransactionKeepers) => operation.run(inside, input as never);
      return writes.watch(lock === undefined ? transact(null, work) : transactLocked(lock, work));
    },
    now: () => clock.now(),
    async check() {
      const query = { text: "select 1", query_timeout: shortAnswerTimeoutMs };
      await pool.query(query).catch((error: unknown) => Promise.reject(faultOf(error)));
      return writes.problem();
    },
    async close() {
      locks.close();
      await untilUnused(pool);
      await pool.end();
    },
  };
}

async function timeOf(pool: pg.Pool): Promise<number> {
  const sql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now";
  const { rows } = await run<{ now: number }>(pool, { sql, parameters: [] }, shortAnswerTimeoutMs);
  return rows[0]?.now ?? Number.NaN;
}

/** The pool itself would drop what waits for a connection. */
async function untilUnused(pool: pg.Pool): Promise<void> {
  const endAt = performance.now() + answerTimeoutMs;
  const isUnused = () => pool.waitingCount === 0 && pool.idleCount === pool.totalCount;
  while (!isUnused() && performance.now() < endAt) await Bun.sleep(5);
}

/** The connection holds the lock, so the lock ends with a process that dies during a migration. */
async function migrateAlone(settings: pg.ClientConfig): Promise<void> {
  const client = await connect(settings);
  try {
    await client.query("select pg_advisory_lock(hashtextextended('slipway migrations', 0))");
    await client.query("begin");
    await migrate(
      databaseOver(postgresDialect, (query) => run(client, query)),
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
