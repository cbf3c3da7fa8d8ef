import { Fault } from "../../errors.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

/** A group ends after this long, so that its first units do not wait for a long tail. */
const maxGroupMs = 8;
/** How long another process may hold the write lock before units are refused. */
const maxBusyMs = 5_000;
const busyRetryMs = 10;

export type Work = () => Promise<unknown>;
export type WorkOutcome = { value: unknown } | { error: unknown };

export interface WorkGroupOptions {
  connection: SqliteConnection;
  unitTimeoutMs: number;
  /** A unit that took too long was undone; whatever it still tries must not reach the connection. */
  onUnitTimeout: () => void;
}

/**
 * Runs units of work one after another in a single transaction, each in a savepoint of its own, and commits once.
 * `next` hands out units until there is none. Throws when all of them were undone.
 */
export async function runWorkGroup(
  { connection, unitTimeoutMs, onUnitTimeout }: WorkGroupOptions,
  next: () => Work | null,
): Promise<WorkOutcome[]> {
  await begin(connection);
  try {
    const outcomes: WorkOutcome[] = [];
    const endAt = performance.now() + maxGroupMs;
    do {
      const work = next();
      if (work === null) break;
      outcomes.push(await runUnit(work));
    } while (performance.now() < endAt);
    connection.run("commit");
    return outcomes;
  } catch (error) {
    if (connection.isInTransaction()) connection.run("rollback");
    throw error;
  }

  async function runUnit(work: Work): Promise<WorkOutcome> {
    connection.run("savepoint unit");
    try {
      const value = await inTime(work());
      connection.run("release unit");
      return { value };
    } catch (error) {
      // Then all units of the group before this one are undone too.
      if (!connection.isInTransaction()) throw error;
      connection.run("rollback to unit");
      connection.run("release unit");
      return { error };
    }
  }

  async function inTime(work: Promise<unknown>): Promise<unknown> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise((_, reject) => {
      timer = setTimeout(() => {
        onUnitTimeout();
        reject(new Fault("internal", `A transaction was undone: it took longer than ${unitTimeoutMs} ms.`));
      }, unitTimeoutMs);
    });
    try {
      return await Promise.race([work, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The lock is polled, not waited for: SQLite's own wait would hold the loop, and all sockets with it. */
export async function begin(connection: SqliteConnection): Promise<void> {
  const endAt = performance.now() + maxBusyMs;
  for (;;) {
    try {
      connection.run("begin immediate");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > endAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, busyRetryMs));
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY");
}
