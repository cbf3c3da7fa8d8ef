import { type Clock, pause } from "../../clock.ts";

/**
 * How far a leader may be behind the others. Two instances then differ by at most twice this time, which is less than the
 * overlap of a replay.
 */
const maxLagMs = 800;
/** How soon a waiting leader notices that a silent one has no partitions any more. */
const recheckMs = 250;

/**
 * Keeps the leaders of one topic at the same pace. Each leader is read on its own; if one of them does not answer,
 * messages of the others would be delivered seconds ahead of its messages, and a client that resumes on another instance
 * with one of them would miss those. Kept across sessions.
 */
export class ReadPace {
  readonly #clock: Clock;
  /** By leader: when its current request was sent. A leader whose records wait or are being handled has none. */
  readonly #askedAtMs = new Map<number, number>();
  /** By leader: its last answer in this session. */
  readonly #answeredAtMs = new Map<number, number>();
  /** The last time at which a leader answered, or its records waited for another. */
  #activeAtMs = 0;
  /** The end of the last time in which no leader answered: this process was suspended, or all leaders were away. */
  #quietUntilMs = 0;
  #waiting = 0;
  #hasFallenBehind = false;
  #changed = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A session begins: nothing is passed on until all leaders have answered. */
  begin(): void {
    if (this.#waiting > 0) this.#activeAtMs = this.#clock.elapsed();
    for (const leader of this.#askedAtMs.keys()) this.#compare(leader);
    this.#askedAtMs.clear();
    this.#answeredAtMs.clear();
  }

  /** A request is sent to the leader. Only from now on can it be late: before, its last records were handled. */
  asked(leader: number): void {
    this.#askedAtMs.set(leader, this.#clock.elapsed());
  }

  answered(leader: number): void {
    const nowMs = this.#clock.elapsed();
    // A leader whose records wait is not asked, but it is ahead.
    if (this.#waiting > 0) this.#activeAtMs = nowMs;
    if (nowMs - this.#activeAtMs > maxLagMs) this.#quietUntilMs = nowMs;
    this.#compare(leader);
    this.#activeAtMs = nowMs;
    this.#askedAtMs.delete(leader);
    this.#answeredAtMs.set(leader, nowMs);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /**
   * Waits until no leader is too far behind the last answer of this one, so that its records may be passed on. The oldest
   * answer that waits never depends on a newer one, so that leaders cannot wait for each other. False: the session ended.
   */
  async becomesLevel(leader: number, leaders: () => number[], signal: AbortSignal): Promise<boolean> {
    const sinceMs = this.#lastAnswer(leader) - maxLagMs;
    const isLevel = () => leaders().every((other) => this.#lastAnswer(other) >= sinceMs);
    if (isLevel()) return true;
    this.#waiting++;
    while (!isLevel() && !signal.aborted)
      await Promise.race([this.#changed.promise, pause(recheckMs, signal)]);
    this.#waiting--;
    this.#activeAtMs = this.#clock.elapsed();
    return !signal.aborted;
  }

  /** True once after a leader was behind: the next records arrive here in another order than on other instances. */
  takeFallenBehind(): boolean {
    const hasFallenBehind = this.#hasFallenBehind;
    this.#hasFallenBehind = false;
    return hasFallenBehind;
  }

  #lastAnswer(leader: number): number {
    return this.#answeredAtMs.get(leader) ?? Number.NEGATIVE_INFINITY;
  }

  /** A time in which no leader answered leaves none of them behind. */
  #compare(leader: number): void {
    const askedAtMs = this.#askedAtMs.get(leader);
    if (askedAtMs === undefined || !this.#answeredAtMs.has(leader)) return;
    if (this.#activeAtMs - Math.max(askedAtMs, this.#quietUntilMs) > maxLagMs) this.#hasFallenBehind = true;
  }
}
