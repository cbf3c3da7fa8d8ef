import { type Clock, pause } from "../../clock.ts";

/**
 * How far the partitions of one leader may be behind those of the others. Two instances then differ by at most twice this
 * time, which is less than the overlap of a replay.
 */
const maxLagMs = 800;

/**
 * Keeps the partitions of one topic at the same pace. Each leader is read on its own; if one of them does not answer,
 * messages of the others would be delivered seconds ahead of its messages, and a client that resumes on another instance
 * with one of them would miss those. Kept across sessions.
 */
export class ReadPace {
  readonly #clock: Clock;
  /** When each partition was last read in this session. */
  readonly #readAtMs = new Map<number, number>();
  #lastReadMs = 0;
  /** The end of the last time in which no partition was read: this process was suspended, or no leader answered. */
  #quietUntilMs = 0;
  #hasFallenBehind = false;
  #changed = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A session begins: nothing is passed on until all partitions have been read. */
  begin(): void {
    for (const partition of this.#readAtMs.keys()) this.#compare(partition);
    this.#readAtMs.clear();
  }

  /** A leader has answered for these partitions. */
  read(partitions: number[]): void {
    const nowMs = this.#clock.elapsed();
    if (nowMs - this.#lastReadMs > maxLagMs) this.#quietUntilMs = nowMs;
    for (const partition of partitions) this.#compare(partition);
    this.#lastReadMs = nowMs;
    for (const partition of partitions) this.#readAtMs.set(partition, this.#lastReadMs);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Whether all partitions were read a moment ago, so that records may be passed on. */
  isLevel(partitions: number[]): boolean {
    const sinceMs = this.#clock.elapsed() - maxLagMs;
    return partitions.every(
      (partition) => (this.#readAtMs.get(partition) ?? Number.NEGATIVE_INFINITY) >= sinceMs,
    );
  }

  /** Waits for a limited time. All that wait continue together, so that none of them is ahead of the others. */
  async becomesLevel(partitions: number[], withinMs: number, signal: AbortSignal): Promise<boolean> {
    const untilMs = this.#clock.elapsed() + withinMs;
    while (!this.isLevel(partitions)) {
      const leftMs = untilMs - this.#clock.elapsed();
      if (leftMs <= 0 || signal.aborted) return false;
      await Promise.race([this.#changed.promise, pause(leftMs, signal)]);
    }
    return true;
  }

  /** True once after a partition was behind: the next records arrive here in another order than on other instances. */
  takeFallenBehind(): boolean {
    const hasFallenBehind = this.#hasFallenBehind;
    this.#hasFallenBehind = false;
    return hasFallenBehind;
  }

  /** A time in which no partition was read leaves none of them behind. */
  #compare(partition: number): void {
    const readAtMs = this.#readAtMs.get(partition);
    if (readAtMs === undefined) return;
    if (this.#lastReadMs - Math.max(readAtMs, this.#quietUntilMs) > maxLagMs) this.#hasFallenBehind = true;
  }
}
