import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { Fault, messageOf } from "../../errors.ts";
import { migrate } from "../migrations/migrate.ts";
import { sqliteDialect } from "../query/dialect.ts";
import { databaseOver } from "../query/kysely-dialect.ts";
import { connect, type SqliteConnection } from "./sqlite-connection.ts";

/**
 * WAL lets readers go on while one writes. With synchronous=NORMAL SQLite syncs at checkpoints only, which keeps the
 * file whole at any crash. What FULL adds, a sync of the WAL at every commit before it is acknowledged, is done by the
 * writer itself (log-sync.ts): SQLite's own stops the thread for as long as the disk takes, and syncs the file's times
 * too. Acknowledged therefore means on disk, exactly as with FULL.
 */
const writerPragmas = [
  "pragma busy_timeout = 5000",
  // Of a new file: a delivery with its body takes fewer pages to write.
  "pragma page_size = 8192",
  "pragma journal_mode = wal",
  "pragma synchronous = normal",
  "pragma foreign_keys = on",
  // Checkpoints run on the thread of lists. Only what they leave behind under steady writing, which never lets the WAL
  // start anew, is finished by the writer, every 125 MiB.
  "pragma wal_autocheckpoint = 16000",
  // Size limit of the log when it restarts under steady writes.
  "pragma journal_size_limit = 16777216",
  "pragma cache_size = -65536",
  "pragma temp_store = memory",
];
/** A reader runs checkpoints, so the file is not opened for reading only; but what a reader wrote would not be synced. */
const readerPragmas = [
  "pragma busy_timeout = 1000",
  "pragma query_only = on",
  "pragma cache_size = -65536",
  "pragma temp_store = memory",
];

/** Opens the file for the writer, creates it if need be, and brings its schema up to date. */
export async function openWriter(file: string): Promise<SqliteConnection> {
  const connection = openNew(file);
  try {
    // The write lock is taken before the first look, so that a second process waits for the first and finds the work done.
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
    // Hashes of passwords and tokens are for the owner alone; SQLite gives its other files the mode of this one.
    closeSync(openSync(file, "a", 0o600));
    return connectWith(file, writerPragmas);
  } catch (error) {
    throw new Fault("unavailable", `The database ${file} cannot be opened: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** After a start and before the end: the space of a long log is given back. While others read it stays as it is. */
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
