import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { Fault, messageOf } from "../../errors.ts";
import { migrate } from "../migrations/migrate.ts";
import { sqliteDialect } from "../query/dialect.ts";
import { databaseOver } from "../query/kysely-dialect.ts";
import { connect, type SqliteConnection } from "./sqlite-connection.ts";

/**
 * WAL lets readers continue during a write. With synchronous=NORMAL, SQLite syncs at checkpoints only, which keeps the
 * file consistent after any crash. The sync of the WAL before each acknowledgement, which FULL would add, is done by
 * log-sync.ts: SQLite's own sync blocks the thread and also writes the file's times. The guarantee is the same:
 * acknowledged means on disk.
 */
const writerPragmas = [
  "pragma busy_timeout = 5000",
  // Only for a new file: with this page size, a delivery with its body takes fewer pages.
  "pragma page_size = 8192",
  "pragma journal_mode = wal",
  "pragma synchronous = normal",
  "pragma foreign_keys = on",
  // The list thread runs checkpoints. Under steady writes they cannot restart the WAL; then the writer finishes the
  // checkpoint, every 125 MiB.
  "pragma wal_autocheckpoint = 16000",
  // Size limit of the log when it restarts under steady writes.
  "pragma journal_size_limit = 16777216",
  "pragma cache_size = -65536",
  "pragma temp_store = memory",
];
/** A reader runs checkpoints, so the file is not opened read-only. Writes of a reader would not be synced. */
const readerPragmas = [
  "pragma busy_timeout = 1000",
  "pragma query_only = on",
  "pragma cache_size = -65536",
  "pragma temp_store = memory",
];

/** Opens the file for the writer, creates it if necessary, and migrates its schema. */
export async function openWriter(file: string): Promise<SqliteConnection> {
  const connection = openNew(file);
  try {
    // The write lock is taken before the schema is read, so that a second process waits and finds the work done.
    connection.run("begin immediate");
    const db = databaseOver(sqliteDialect, async (query) => connection.execute(query));
    await migrate(db, sqliteDialect);
    connection.run("commit");
    truncateLog(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function openNew(file: string): SqliteConnection {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // The file contains hashes of passwords and tokens, so only its owner may read it. SQLite gives its other files the
    // same mode.
    closeSync(openSync(file, "a", 0o600));
    return connectWith(file, writerPragmas);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("unavailable", `The database ${file} cannot be opened: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** At start and end: truncates a long log. The log stays if another connection reads it. */
export function truncateLog(connection: SqliteConnection): void {
  try {
    connection.run("pragma wal_checkpoint(truncate)");
  } catch {}
}

export function openReader(file: string): SqliteConnection {
  return connectWith(file, readerPragmas);
}

function connectWith(file: string, pragmas: readonly string[]): SqliteConnection {
  const connection = connect(file);
  for (const pragma of pragmas) connection.run(pragma);
  return connection;
}
