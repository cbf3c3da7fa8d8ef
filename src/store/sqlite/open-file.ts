import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Fault, messageOf } from "../../errors.ts";
import { migrate } from "../migrations/migrate.ts";
import { sqliteDialect } from "../query/dialect.ts";
import { databaseOver } from "../query/kysely-dialect.ts";
import { connect, type SqliteConnection } from "./sqlite-connection.ts";

const waitForOthers = "pragma busy_timeout = 5000";
const sharedPragmas = [waitForOthers, "pragma cache_size = -65536", "pragma temp_store = memory"];
const writerPragmas = [
  // Only for a new file: with this page size, a delivery with its body takes fewer pages.
  "pragma page_size = 8192",
  // Lists go on during a write.
  "pragma journal_mode = wal",
  // A commit returns when it is on disk.
  "pragma synchronous = full",
  "pragma foreign_keys = on",
  // Size limit of the log when it restarts under steady writes.
  "pragma journal_size_limit = 16777216",
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
    return connectWith(file, [...sharedPragmas, ...writerPragmas]);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("unavailable", `The database ${file} cannot be opened: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

export async function openLister(file: string): Promise<SqliteConnection> {
  return connectWith(file, [...sharedPragmas, "pragma query_only = on"]);
}

function connectWith(file: string, pragmas: readonly string[]): SqliteConnection {
  const connection = connect(file);
  for (const pragma of pragmas) connection.run(pragma);
  return connection;
}

/** SQLite itself never shrinks the log while it is open, and a small disk would stay full. It stays if a list reads it. */
export function truncateLog(connection: SqliteConnection): void {
  connection.run("pragma busy_timeout = 0");
  try {
    connection.run("pragma wal_checkpoint(truncate)");
  } catch {
    // A disk that cannot be written is noticed by the next write.
  }
  connection.run(waitForOthers);
}

/** A shorter log is kept: growing it again would cost more than the space saves. */
const keptBytes = 1024 * 1024;

export function truncateLongLog(file: string, connection: SqliteConnection): void {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  if (log !== undefined && log.size > keptBytes) truncateLog(connection);
}
