import { type Clock, systemClock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Keepers, Store, Unit } from "../model/store.ts";
import { buildKeepers } from "./keepers/keepers.ts";
import { buildNamedLock } from "./named-lock.ts";
import { openPostgres } from "./postgres/postgres.ts";
import { beAlone, joinServers } from "./postgres/postgres-servers.ts";
import { readDatabaseUrl } from "./query/database-url.ts";
import type { Engine } from "./query/engine.ts";
import type { Scope } from "./query/scope.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { ownSqlite } from "./sqlite/sqlite-owner.ts";

export interface StoreOptions {
  /** `sqlite:<file>` or `postgres://…`. */
  url: string;
  log: Log;
  clock?: Clock;
  /** Connections to PostgreSQL that this instance opens at most. */
  poolSize?: number;
}

/** Opens the database, brings its schema up to date and answers the keepers of all that is stored. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { log } = options;
  const engine = await openEngine(options);
  log.debug({ database: engine.description }, "database is open");
  return storeOver(engine);
}

/** `server`: one of those that serve this database, on SQLite the only one. `alone`: no server may run beside it. */
type Use = "server" | "alone";

/** For a server, and for what must not run beside one: refused while somebody has the database who would suffer. */
export async function openOwnStore(use: Use, options: StoreOptions): Promise<Store> {
  const release = await own(use, options);
  try {
    const store = await openStore(options);
    return { ...store, close: () => store.close().finally(release) };
  } catch (error) {
    await release();
    throw error;
  }
}

async function own(use: Use, { url, log }: StoreOptions): Promise<() => Promise<void>> {
  const read = readDatabaseUrl(url);
  if (read.kind === "sqlite") return ownSqlite(read.path);
  return use === "server" ? joinServers(read.url, log) : beAlone(read.url);
}

async function openEngine({ url, log, clock = systemClock, poolSize = 10 }: StoreOptions): Promise<Engine> {
  const read = readDatabaseUrl(url);
  if (read.kind === "sqlite") return openSqlite({ path: read.path, log, clock });
  return openPostgres({ url: read.url, log, poolSize });
}

function storeOver(engine: Engine): Store {
  const locks = buildNamedLock();
  let closing: Promise<void> | null = null;
  // SQLite hands the same scope to one transaction after another: its keepers are built once.
  const keepersOf = new WeakMap<Scope, Keepers>();
  const insideOf = (scope: Scope): Keepers => {
    const known = keepersOf.get(scope) ?? buildKeepers(scope);
    keepersOf.set(scope, known);
    return known;
  };
  const unitOf = (scope: Scope): Unit => ({
    ...insideOf(scope),
    transaction: (work) => scope.transact((inner) => work(insideOf(inner))),
  });
  const whole = unitOf(engine.scope);
  return {
    ...whole,
    async withLock(name, waitMs, work) {
      const endAt = performance.now() + waitMs;
      const release = await locks.acquire(name, waitMs);
      if (release === null) return "timeout";
      try {
        return await engine.runLocked(name, endAt - performance.now(), (scope) =>
          work(scope === engine.scope ? whole : unitOf(scope)),
        );
      } finally {
        release();
      }
    },
    version: () => engine.version(),
    now: () => engine.now(),
    check: () => engine.check(),
    describe: () => engine.description,
    close() {
      locks.close();
      closing ??= engine.close();
      return closing;
    },
  };
}
