import { Fault, messageOf } from "../errors.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

/** Work that waits for the writer; more than this means that the disk no longer keeps up. */
const maxWaiting = 10_000;
const maxUnitsPerGroup = 512;
/** A group ends after this long, so that its first units do not wait for a long tail. */
const maxGroupMs = 8;
/** How long another process may hold the write lock before units are refused. */
const maxBusyMs = 5_000;
const busyRetryMs = 10;

interface Unit {
  work: () => Promise<unknown>;
  /** Several statements that must be undone together; a single one undoes itself. */
  needsSavepoint: boolean;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

type Outcome = { unit: Unit; value: unknown } | { unit: Unit; error: unknown };

export interface GroupWriterOptions {
  connection: SqliteConnection;
  /** Waits until all that was committed so far is on disk. */
  sync: () => Promise<void>;
  /** A group is committed: readers see it from now on. */
  onCommit: () => void;
  unitTimeoutMs: number;
  /** A unit that took too long was undone; whatever it still tries must not reach the connection. */
  onUnitTimeout: () => void;
}

export interface GroupWriter {
  /** Runs `work` on the writing connection, in order; has answered once it is durable. */
  submit<T>(work: () => Promise<T>, options: { needsSavepoint: boolean }): Promise<T>;
  /** Throws when nothing can be written any more. */
  check(): void;
  /** Refuses new work and waits for what is in hand. */
  close(): Promise<void>;
}

/**
 * One writer for all: it takes the units that wait, runs them one after another in a single transaction, each in a
 * savepoint of its own, and commits once. Their promises settle when the commit is on disk, while the next group
 * already runs: one sync then serves every unit that was committed before it began.
 */
export function buildGroupWriter({
  connection,
  sync,
  onCommit,
  unitTimeoutMs,
  onUnitTimeout,
}: GroupWriterOptions): GroupWriter {
  const waiting: Unit[] = [];
  let unsynced: Outcome[] = [];
  let running: Unit | null = null;
  let isWriting = false;
  let syncing: Promise<void> | null = null;
  let broken: Fault | null = null;
  let isClosed = false;
  let idle: (() => void) | null = null;

  async function write(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    // Let this turn of the loop hand in all its units first: they then share one commit.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const outcomes: Outcome[] = [];
      try {
        await begin(connection);
        await runGroup(outcomes);
        connection.run("commit");
        onCommit();
        unsynced.push(...outcomes);
        void settle();
      } catch (error) {
        fail(error, outcomes);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    isWriting = false;
    if (isClosed && syncing === null) idle?.();
  }

  async function runGroup(outcomes: Outcome[]): Promise<void> {
    const endAt = performance.now() + maxGroupMs;
    while (outcomes.length < maxUnitsPerGroup && performance.now() < endAt) {
      const unit = waiting.shift();
      if (unit === undefined) return;
      running = unit;
      outcomes.push(await runUnit(unit));
      running = null;
    }
  }

  async function runUnit(unit: Unit): Promise<Outcome> {
    if (unit.needsSavepoint) connection.run("savepoint unit");
    try {
      const value = await inTime(unit.work());
      if (unit.needsSavepoint) connection.run("release unit");
      return { unit, value };
    } catch (error) {
      // Then all units of the group before this one are undone too.
      if (!connection.isInTransaction()) throw error;
      if (unit.needsSavepoint) {
        connection.run("rollback to unit");
        connection.run("release unit");
      }
      return { unit, error };
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

  async function settle(): Promise<void> {
    if (syncing !== null) return;
    while (unsynced.length > 0) {
      const outcomes = unsynced;
      unsynced = [];
      syncing = sync();
      try {
        await syncing;
      } catch (error) {
        // After a failed sync the kernel may have dropped the pages: only a restart tells what is on disk.
        broken = new Fault("unavailable", `The database could not be synced to disk: ${messageOf(error)}`);
      }
      syncing = null;
      for (const outcome of outcomes) {
        if (broken !== null) outcome.unit.reject(broken);
        else if ("error" in outcome) outcome.unit.reject(outcome.error);
        else outcome.unit.resolve(outcome.value);
      }
    }
    if (isClosed && !isWriting) idle?.();
  }

  function fail(error: unknown, outcomes: Outcome[]): void {
    try {
      connection.run("rollback");
    } catch {
      // No transaction was open: it failed to begin.
    }
    const begun = outcomes.map((outcome) => outcome.unit);
    if (running !== null) begun.push(running);
    running = null;
    const affected = begun.length > 0 ? begun : waiting.splice(0);
    const fault = new Fault("unavailable", `The database cannot be written: ${messageOf(error)}`, {
      cause: error,
    });
    for (const unit of affected) unit.reject(fault);
  }

  function check(): void {
    if (broken !== null) throw broken;
    if (isClosed) throw new Fault("unavailable", "The database is closed.");
  }

  return {
    async submit<T>(work: () => Promise<T>, { needsSavepoint }: { needsSavepoint: boolean }): Promise<T> {
      check();
      if (waiting.length >= maxWaiting)
        throw new Fault("unavailable", "Too much waits to be written to the database.", {
          retryAfterSeconds: 1,
        });
      return new Promise<T>((resolve, reject) => {
        waiting.push({ work, needsSavepoint, resolve: resolve as (value: unknown) => void, reject });
        void write();
      });
    },
    check,
    async close() {
      isClosed = true;
      if (!isWriting && syncing === null) return;
      await new Promise<void>((resolve) => {
        idle = resolve;
      });
    },
  };
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
