import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type Dialect as KyselyDialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { Database, Dialect } from "./dialect.ts";
import type { Schema } from "./schema.ts";

export type Query = Pick<CompiledQuery, "sql" | "parameters">;

/**
 * Counts and ids are plain numbers: Kysely's big integers are slower, and JSON, which carries them to a thread, has
 * none.
 */
export interface QueryAnswer<R = unknown> {
  rows: R[];
  /** How many rows it changed. */
  changes: number;
  /** The id of the row that it inserted; 0 where the database does not tell. */
  newId: number;
}

export type Execute = <R>(query: Query) => Promise<QueryAnswer<R>>;

/** A query builder whose queries go wherever `execute` sends them. */
export function databaseOver({ name }: Pick<Dialect, "name">, execute: Execute): Database {
  return new Kysely<Schema>({ dialect: dialectOver(name, execute) });
}

/**
 * A Kysely dialect whose queries go wherever `execute` sends them. The engine manages connections and transactions;
 * Kysely only builds queries.
 */
function dialectOver(name: Dialect["name"], execute: Execute): KyselyDialect {
  const connection: DatabaseConnection = {
    async executeQuery<R>(query: Query) {
      const { rows, changes, newId } = await execute<R>(query);
      return { rows, numAffectedRows: BigInt(changes), insertId: BigInt(newId) };
    },
    streamQuery() {
      throw new Error("Rows are not streamed: lists are read by page.");
    },
  };
  const refuse = async () => {
    throw new Error("Transactions are opened by the store.");
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

/** Migrations run inside a transaction and a lock of the engine, so Kysely needs none of its own. */
class LockedPostgresAdapter extends PostgresAdapter {
  override get supportsTransactionalDdl(): boolean {
    return false;
  }
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}
