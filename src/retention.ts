import type { Clock } from "./clock.ts";
import { messageOf } from "./errors.ts";
import type { Logger } from "./logger.ts";

export interface RetentionOptions {
  /** For the log: "deliveries". */
  what: string;
  retentionDays: number;
  /** Deletes records older than `before` in batches and yields the size of each batch. */
  batches(before: Date): AsyncIterable<number>;
  clock: Clock;
  log: Logger;
  cleaned(count: number): void;
}

const dayMs = 86_400_000;
const longestPauseMs = 3_600_000;
/** Pause between batches, in which other writes get their turn. */
const pauseMs = 20;

/**
 * Deletes expired records in small batches: at start, then every hour, or four times per retention time if that is shorter
 * than four hours.
 */
export function buildRetention(options: RetentionOptions) {
  const { what, retentionDays, log } = options;
  let timer: ReturnType<typeof setInterval> | undefined;
  let running: Promise<void> | null = null;
  let isClosed = false;
  const quarterMs = (retentionDays * dayMs) / 4;
  const everyMs = quarterMs > 0 ? Math.min(longestPauseMs, quarterMs) : longestPauseMs;

  async function clean(): Promise<number> {
    const before = new Date(options.clock.now() - retentionDays * dayMs);
    let total = 0;
    for await (const deleted of options.batches(before)) {
      total += deleted;
      options.cleaned(deleted);
      if (isClosed) break;
      await Bun.sleep(pauseMs);
    }
    return total;
  }

  async function round(): Promise<void> {
    try {
      const deleted = await clean();
      if (deleted > 0) log.info({ deleted, retentionDays }, `old ${what} were deleted`);
    } catch (error) {
      const reason = `old ${what} could not be deleted; the next round tries again`;
      log.warn({ error: messageOf(error) }, reason);
    }
    running = null;
  }

  return {
    start(): void {
      running = round();
      timer = setInterval(() => {
        running ??= round();
      }, everyMs);
    },
    /** Resolves when no deletion is in progress. */
    settled: async () => void (await running),
    async close(): Promise<void> {
      isClosed = true;
      clearInterval(timer);
      await running;
    },
  };
}
