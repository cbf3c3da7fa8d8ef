import { Database as SqliteFile } from "bun:sqlite";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Fault, messageOf } from "../../errors.ts";

/**
 * Makes this process the only server of an SQLite file until the returned function is called: it keeps the data key in
 * memory, and is not told what another process changes. The lock is an operating-system lock on a file beside it, taken
 * through SQLite, so it ends with the process.
 */
export function ownSqlite(databasePath: string): () => Promise<void> {
  const path = `${resolve(databasePath)}.lock`;
  const lock = openLock(path);
  try {
    lock.run("begin exclusive");
  } catch (error) {
    lock.close(false);
    if (!isBusy(error)) throw cannotLock(path, error);
    throw new Fault(
      "conflict",
      `Another Slipway server is running on the database ${databasePath}. Stop it first, or give this one a data.dir of its own; several servers together need PostgreSQL.`,
    );
  }
  return async () => lock.close(false);
}

function openLock(path: string): SqliteFile {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    closeSync(openSync(path, "a", 0o600));
  } catch (error) {
    throw new Fault(
      "conflict",
      `The folder ${dirname(path)} cannot be used: ${messageOf(error)}. Let the user of this process write to it, or set data.dir to another folder.`,
      { cause: error },
    );
  }
  try {
    return new SqliteFile(path, { create: true, readwrite: true });
  } catch (error) {
    throw cannotLock(path, error);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "SQLITE_BUSY";
}

function cannotLock(path: string, error: unknown): Fault {
  return new Fault("unavailable", `The lock ${path} cannot be taken: ${messageOf(error)}`, { cause: error });
}
