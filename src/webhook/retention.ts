import type { Clock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { DeliveryKeeper } from "../model/delivery.ts";

/** Deletes delivery records past their time, in small batches, so that no delivery waits for it. */
export interface Retention {
  start(): void;
  /** Resolves when no round is under way. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface RetentionOptions {
  deliveries: Pick<DeliveryKeeper, "deleteOlderThan">;
  clock: Clock;
  log: Log;
  retentionDays: number;
  cleaned: (records: number) => void;
}

const dayMs = 86_400_000;
const everyMs = 3_600_000;
/** About 5 ms of work on SQLite, which holds the loop meanwhile. */
const batchSize = 100;
/** Between two batches others write. */
const pauseMs = 20;

export function buildRetention({
  deliveries,
  clock,
  log,
  retentionDays,
  cleaned,
}: RetentionOptions): Retention {
  let timer: ReturnType<typeof setInterval> | undefined;
  let running: Promise<void> | null = null;
  let isClosed = false;

  async function clean(): Promise<number> {
    const before = new Date(clock.now() - retentionDays * dayMs);
    let total = 0;
    while (!isClosed) {
      const deleted = await deliveries.deleteOlderThan(before, batchSize);
      total += deleted;
      cleaned(deleted);
      if (deleted < batchSize) break;
      await Bun.sleep(pauseMs);
    }
    return total;
  }

  async function round(): Promise<void> {
    try {
      const deleted = await clean();
      if (deleted > 0) log.info({ deleted, retentionDays }, "old deliveries were deleted");
    } catch (error) {
      log.warn(
        { error: messageOf(error) },
        "old deliveries could not be deleted; the next round tries again",
      );
    }
    running = null;
  }

  return {
    start() {
      running = round();
      timer = setInterval(() => {
        running ??= round();
      }, everyMs);
    },
    settled: async () => void (await running),
    async close() {
      isClosed = true;
      clearInterval(timer);
      await running;
    },
  };
}
