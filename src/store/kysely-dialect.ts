import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type Dialect as KyselyDialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { Dialect } from "./dialect.ts";

export type Query = Pick<CompiledQuery, "sql" | "parameters">;
export type Execute = <R>(query: Query) => Promise<QueryResult<R>>;

/**
 * A Kysely dialect whose queries go wherever `execute` sends them. Connections and transactions are the engine's:
 * Kysely builds the queries, and nothing else.
 */
export function dialectOver(name: Dialect["name"], execute: Execute): KyselyDialect {
  const connection: DatabaseConnection = {
    executeQuery: execute,
    streamQuery() {
      throw new Error("Rows are not streamed: lists are read by page.");
    },
  };
  const refuse = async () => {
    throw new Error("A transaction is opened by the store's transact.");
  };
  const driver: Driver = {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    releaseConnection: async () => {},
    destroy: async () => {},
  };
  return {
    createDriver: () => driver,
    createAdapter: () => (name === "sqlite" ? new SqliteAdapter() : new LockedPostgresAdapter()),
    createIntrospector: (db) =>
      name === "sqlite" ? new SqliteIntrospector(db) : new PostgresIntrospector(db),
    createQueryCompiler: () => (name === "sqlite" ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
  };
}

/** Migrations run inside a transaction and a lock of the engine's: Kysely need not make its own. */
class LockedPostgresAdapter extends PostgresAdapter {
  override get supportsTransactionalDdl(): boolean {
    return false;
  }
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}
