import { type Clock, systemClock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { AnyOperation, OperationLock, Store } from "../model/store.ts";
import { auditedCall } from "./keepers/audited-call.ts";
import { readDatabaseUrl } from "./query/database-url.ts";
import type { Engine } from "./query/engine.ts";
import { keepersOver } from "./query/keeper-call.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { ownSqlite } from "./sqlite/sqlite-owner.ts";

export interface StoreOptions {
  /** `sqlite:<file>` or `postgres://…`. */
  url: string;
  log: Logger;
  clock?: Clock;
  /** Connections to PostgreSQL that this instance opens at most. */
  poolSize?: number;
  /** The program of SQLite's threads. The caller names it, because it registers the operations of all other modules. */
  threadProgram: string | URL;
}

/** Opens the database and brings its schema up to date. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { log } = options;
  const engine = await openEngine(options);
  log.debug({ database: engine.description }, "database is open");
  return storeOver(engine);
}

/** `server`: a server of this database; SQLite allows one. `alone`: no server may run at the same time. */
type Use = "server" | "alone";

/**
 * Reserves the database for a server, or for a command that must not run beside a server; rejects while a conflicting
 * process uses it.
 */
export async function openOwnStore(use: Use, options: StoreOptions): Promise<Store> {
  const release = await own(use, options);
  try {
    const store = await openStore(options);
    let closing: Promise<void> | null = null;
    return {
      ...store,
      close() {
        closing ??= store.close().finally(release);
        return closing;
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
}

async function own(use: Use, { url }: StoreOptions): Promise<() => Promise<void>> {
  const read = readDatabaseUrl(url);
  if (read.kind === "sqlite") return ownSqlite(read.path);
  const { beAlone, joinServers } = await import("./postgres/postgres-servers.ts");
  return use === "server" ? joinServers(read.url) : beAlone(read.url);
}

async function openEngine(options: StoreOptions): Promise<Engine> {
  const { url, log, clock = systemClock, poolSize = 10, threadProgram } = options;
  const read = readDatabaseUrl(url);
  if (read.kind === "sqlite") return openSqlite({ path: read.path, log, clock, threadProgram });
  // Imported only here: on SQLite, only the threads of the store build queries.
  const { openPostgres } = await import("./postgres/postgres.ts");
  return openPostgres({ url: read.url, log, poolSize });
}

function storeOver(engine: Engine): Store {
  let closing: Promise<void> | null = null;
  return {
    ...keepersOver(engine.kinds, (call) => engine.call(call)),
    run: (operation: AnyOperation, input: unknown, lock?: OperationLock) =>
      engine.run(operation, input, lock) as Promise<never>,
    audited: (entry) =>
      keepersOver(engine.kinds, (call) => engine.run(auditedCall, { call, entry }, undefined)),
    isShared: engine.isShared,
    now: () => engine.now(),
    check: () => engine.check(),
    describe: () => engine.description,
    close() {
      closing ??= engine.close();
      return closing;
    },
  };
}
