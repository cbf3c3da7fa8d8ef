import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import { reasonOf } from "./failure-reason.ts";

export interface InFlightOptions {
  maxCount: number;
  maxBytes: number;
  deadlineMs: number;
  clock: Clock;
  /** Called when a publish timed out and the broker, or the log of the publish, showed no activity since it was sent. */
  onSilence(): void;
}

interface Entry {
  startedAt: number;
  log: string | undefined;
  bytes: number;
  isAnswered: boolean;
  resolve(): void;
  reject(fault: Fault): void;
}

const sweepMs = 250;

/** The message may or may not have been written; the caller may publish again. */
export function queueUnavailable(detail: string, cause?: unknown): Fault {
  return new Fault("unavailable", `The message queue is not available: ${detail}.`, {
    retryAfterSeconds: 1,
    cause,
  });
}

/**
 * The publishes that the broker has not confirmed. Their number and bytes are bounded, so that a stalled broker fills no
 * memory, and each is answered within its deadline. A publish that timed out still counts until the client library
 * releases it, because until then it occupies memory.
 */
export class InFlight {
  readonly #options: InFlightOptions;
  /** In order of start, and so of deadline. */
  readonly #entries = new Set<Entry>();
  readonly #sweeper: ReturnType<typeof setInterval>;
  #bytes = 0;
  #unanswered = 0;
  #activeAt = 0;
  #resumedAt = 0;
  /** By log: when its last record was confirmed. */
  readonly #confirmedAt = new Map<string, number>();
  #onAnswered: (() => void)[] = [];

  constructor(options: InFlightOptions) {
    this.#options = options;
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs);
    this.#sweeper.unref();
  }

  get count(): number {
    return this.#entries.size;
  }

  /** The message that crosses the byte limit is still accepted, whatever its size. */
  get isFull(): boolean {
    return this.#entries.size >= this.#options.maxCount || this.#bytes >= this.#options.maxBytes;
  }

  /** With `log`, silence of that log is reported although other logs are confirmed: their leaders may be other nodes. */
  run(bytes: number, send: () => Promise<void>, log?: string): Promise<void> {
    const { clock } = this.#options;
    if (this.isFull)
      return Promise.reject(queueUnavailable(`${this.#entries.size} messages already wait for confirmation`));
    return new Promise<void>((resolve, reject) => {
      const entry: Entry = { startedAt: clock.now(), log, bytes, isAnswered: false, resolve, reject };
      this.#entries.add(entry);
      this.#bytes += bytes;
      this.#unanswered += 1;
      send().then(
        () => this.#settle(entry),
        (cause: unknown) => this.#settle(entry, cause),
      );
    });
  }

  /** The broker accepts records again; it first confirms the earlier ones. */
  noteResumed(): void {
    this.#resumedAt = this.#options.clock.now();
  }

  /** The session ended: no publish in flight will be confirmed. */
  rejectAll(detail: string): void {
    for (const entry of [...this.#entries]) this.#settle(entry, new Error(detail));
  }

  /** Resolves when all publishes are answered, at the latest after the deadline. */
  drained(): Promise<void> {
    if (this.#unanswered === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onAnswered.push(resolve));
  }

  stop(): void {
    clearInterval(this.#sweeper);
  }

  #settle(entry: Entry, cause?: unknown): void {
    if (!this.#entries.delete(entry)) return;
    this.#bytes -= entry.bytes;
    if (cause !== undefined) {
      this.#answer(entry, cause instanceof Fault ? cause : queueUnavailable(reasonOf(cause), cause));
      return;
    }
    this.#activeAt = this.#options.clock.now();
    if (entry.log !== undefined) this.#confirmedAt.set(entry.log, this.#activeAt);
    this.#answer(entry);
  }

  #answer(entry: Entry, fault?: Fault): void {
    if (entry.isAnswered) return;
    entry.isAnswered = true;
    if (fault) entry.reject(fault);
    else entry.resolve();
    this.#unanswered -= 1;
    if (this.#unanswered > 0) return;
    for (const resolve of this.#onAnswered.splice(0)) resolve();
  }

  #sweep(): void {
    const { clock, deadlineMs, onSilence } = this.#options;
    const latest = clock.now() - deadlineMs;
    let isSilent = false;
    for (const entry of this.#entries) {
      if (entry.startedAt > latest) break;
      this.#answer(entry, queueUnavailable(`no confirmation within ${deadlineMs / 1000} s`));
      isSilent ||= this.#activeAtFor(entry) <= entry.startedAt;
    }
    if (isSilent) onSilence();
  }

  #activeAtFor({ log }: Entry): number {
    const confirmedAt = log === undefined ? this.#activeAt : (this.#confirmedAt.get(log) ?? 0);
    return Math.max(confirmedAt, this.#resumedAt);
  }
}
