import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { SqliteBackground } from "./sqlite-background.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

const checkpointEveryMs = 1_000;
/** After this long without a write, the log is truncated. */
const idleMs = 2_000;
/** A shorter log is kept: growing it again would cost more than the space saves. */
const keptBytes = 1024 * 1024;

const truncate = "pragma wal_checkpoint(truncate)";

export interface Checkpoints {
  /** To be called after each write. */
  written(): void;
  close(): void;
}

/**
 * Runs checkpoints on the background thread, because their syncs would block the event loop: at most one a second during
 * writes. When writes pause, the log is truncated: SQLite itself never shrinks the file, and a small disk would stay full.
 */
export function buildCheckpoints(
  background: SqliteBackground,
  logBytes: () => Promise<number>,
  log: Log,
): Checkpoints {
  let nextAt = performance.now() + checkpointEveryMs;
  let writtenAt = 0;
  let isRunning = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function run(sql: string): void {
    isRunning = true;
    background
      .execute({ sql, parameters: [] })
      .catch((error: unknown) => log.warn({ reason: messageOf(error) }, "a database checkpoint failed"))
      .finally(() => {
        isRunning = false;
        nextAt = performance.now() + checkpointEveryMs;
      });
  }

  async function cutWhenIdle(): Promise<void> {
    timer = undefined;
    if (isRunning || performance.now() - writtenAt < idleMs) return wait();
    if ((await logBytes()) > keptBytes) run(truncate);
  }

  function wait(): void {
    timer = setTimeout(() => void cutWhenIdle().catch(() => {}), idleMs);
    timer.unref();
  }

  return {
    written() {
      writtenAt = performance.now();
      if (timer === undefined) wait();
      if (!isRunning && writtenAt >= nextAt) run("pragma wal_checkpoint(passive)");
    },
    close: () => clearTimeout(timer),
  };
}

/** At start and shutdown: writes the log into the database and truncates it. */
export function cutLog(connection: SqliteConnection, log: Log): void {
  try {
    connection.run(truncate);
  } catch (error) {
    log.warn({ reason: messageOf(error) }, "the database log could not be truncated");
  }
}
