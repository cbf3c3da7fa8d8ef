import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { Fault, messageOf } from "../../errors.ts";
import { connect as connectPostgres, run, settingsOf } from "../postgres/postgres-client.ts";
import { readDatabaseUrl } from "../query/database-url.ts";
import { type Dialect, postgresDialect, sqliteDialect } from "../query/dialect.ts";
import type { Execute } from "../query/kysely-dialect.ts";
import { connect as connectSqlite } from "../sqlite/sqlite-connection.ts";

/** A connection beside the store's, for commands that read or write everything: it has no timeouts. */
export interface BulkConnection {
  dialect: Dialect;
  execute: Execute;
  /** Begins a transaction that sees one snapshot of the database, while others continue to write. */
  beginReading(): Promise<void>;
  beginWriting(): Promise<void>;
  commit(): Promise<void>;
  /** Rolls back what is not committed. */
  close(): Promise<void>;
}

export async function openBulkConnection(databaseUrl: string): Promise<BulkConnection> {
  const read = readDatabaseUrl(databaseUrl);
  return read.kind === "sqlite" ? openSqlite(resolve(read.path)) : openPostgres(read.url);
}

function openSqlite(file: string): BulkConnection {
  requireFile(file);
  const connection = connectSqlite(file);
  for (const pragma of ["busy_timeout = 5000", "foreign_keys = on", "synchronous = full"])
    connection.run(`pragma ${pragma}`);
  return {
    dialect: sqliteDialect,
    execute: async (query) => connection.execute(query),
    beginReading: async () => connection.run("begin"),
    beginWriting: async () => connection.run("begin immediate"),
    commit: async () => connection.run("commit"),
    close: async () => connection.close(),
  };
}

function requireFile(file: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT")
      throw new Fault("not_found", `There is no database ${file}; is data.dir right?`, { cause });
    throw new Fault(
      "conflict",
      `The database ${file} cannot be opened: ${messageOf(cause)}. Run this command as the user of the server.`,
      { cause },
    );
  }
}

async function openPostgres(url: string): Promise<BulkConnection> {
  const client = await connectPostgres(settingsOf(url));
  const command = async (sql: string) => void (await client.query(sql));
  return {
    dialect: postgresDialect,
    execute: (query) => run(client, query),
    beginReading: () => command("begin isolation level repeatable read read only"),
    beginWriting: () => command("begin"),
    commit: () => command("commit"),
    close: () => client.end(),
  };
}
