import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";

const checkpointEveryMs = 1_000;
/** After this long without a write, the log is truncated. */
const idleMs = 2_000;
/** A shorter log is kept: growing it again would cost more than the space saves. */
const keptBytes = 1024 * 1024;

/**
 * Runs checkpoints of a log that is worth it beside the writer, because their syncs take long: at most one a second during
 * writes. When writes pause, the log is truncated: SQLite itself never shrinks the file, and a small disk would stay full.
 */
export function buildCheckpoints(
  checkpoint: (mode: "passive" | "truncate") => Promise<unknown>,
  logBytes: () => Promise<number>,
  log: Logger,
) {
  let nextAt = performance.now() + checkpointEveryMs;
  let writtenAt = 0;
  let isRunning = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function run(mode: "passive" | "truncate"): void {
    isRunning = true;
    checkpointLong(mode)
      .catch((error: unknown) => log.warn({ reason: messageOf(error) }, "a database checkpoint failed"))
      .finally(() => {
        isRunning = false;
        nextAt = performance.now() + checkpointEveryMs;
      });
  }

  async function checkpointLong(mode: "passive" | "truncate"): Promise<void> {
    if ((await logBytes()) > keptBytes) await checkpoint(mode);
  }

  function cutWhenIdle(): void {
    timer = undefined;
    if (isRunning || performance.now() - writtenAt < idleMs) wait();
    else run("truncate");
  }

  function wait(): void {
    timer = setTimeout(cutWhenIdle, idleMs);
    timer.unref();
  }

  return {
    /** Call after each write. */
    written(): void {
      writtenAt = performance.now();
      if (timer === undefined) wait();
      if (!isRunning && writtenAt >= nextAt) run("passive");
    },
    close: () => clearTimeout(timer),
  };
}
