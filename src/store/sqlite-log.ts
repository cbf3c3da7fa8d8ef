import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { SqliteBackground } from "./sqlite-background.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

const checkpointEveryMs = 1_000;
/** Without a write for this long, the space of the log is given back. */
const idleMs = 2_000;
/** A shorter log is kept: to grow it again would cost more than its space is worth. */
const keptBytes = 1024 * 1024;

const truncate = "pragma wal_checkpoint(truncate)";

export interface Checkpoints {
  /** To be called after each write. */
  written(): void;
  close(): void;
}

/**
 * Checkpoints on the background thread, whose syncs would hold the loop: at most one a second while there are writes.
 * When they pause, the log is cut: SQLite itself never makes its file shorter, and a small disk would stay full.
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

/** At start and end, when nobody waits: what an earlier run left is brought into the database, and its space given back. */
export function cutLog(connection: SqliteConnection, log: Log): void {
  try {
    connection.run(truncate);
  } catch (error) {
    log.warn({ reason: messageOf(error) }, "the database log could not be shortened");
  }
}
