import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import { reasonOf } from "./failure-reason.ts";

export interface InFlightOptions {
  maxCount: number;
  maxBytes: number;
  deadlineMs: number;
  clock: Clock;
  /** Called when a publish ran out of time and nothing at all was heard since it was sent. */
  onSilence(): void;
}

interface Entry {
  startedAt: number;
  bytes: number;
  isAnswered: boolean;
  resolve(): void;
  reject(fault: Fault): void;
}

const sweepMs = 250;

/** What the caller of `publish` is told: it may come again, the message may or may not have been written. */
export function queueUnavailable(detail: string, cause?: unknown): Fault {
  return new Fault("unavailable", `The message queue is not available: ${detail}.`, {
    retryAfterSeconds: 1,
    cause,
  });
}

/**
 * The publishes on their way to the broker. Bounded in number and bytes, so that a stalled broker fills no memory,
 * and each is answered within its deadline. One that ran out of time keeps its place until the broker's client lets
 * go of it, because until then it still occupies memory.
 */
export class InFlight {
  readonly #options: InFlightOptions;
  /** In order of start, which is also the order of their deadlines. */
  readonly #entries = new Set<Entry>();
  readonly #sweeper: ReturnType<typeof setInterval>;
  #bytes = 0;
  #unanswered = 0;
  #lastHeardAt = 0;
  #onAnswered: (() => void)[] = [];

  constructor(options: InFlightOptions) {
    this.#options = options;
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs);
    this.#sweeper.unref();
  }

  get count(): number {
    return this.#entries.size;
  }

  /** Bytes count from the next message on: the last one may be of any size. */
  get isFull(): boolean {
    return this.#entries.size >= this.#options.maxCount || this.#bytes >= this.#options.maxBytes;
  }

  run(bytes: number, send: () => Promise<void>): Promise<void> {
    const { clock } = this.#options;
    if (this.isFull)
      return Promise.reject(queueUnavailable(`${this.#entries.size} messages already wait for confirmation`));
    return new Promise<void>((resolve, reject) => {
      const entry: Entry = { startedAt: clock.now(), bytes, isAnswered: false, resolve, reject };
      this.#entries.add(entry);
      this.#bytes += bytes;
      this.#unanswered += 1;
      send().then(
        () => this.#settle(entry),
        (cause: unknown) => this.#settle(entry, cause),
      );
    });
  }

  /** The broker gave a sign of life: what it has had since before is not silence yet. */
  heard(): void {
    this.#lastHeardAt = this.#options.clock.now();
  }

  /** The session is gone: nobody will confirm these any more. */
  rejectAll(detail: string): void {
    for (const entry of [...this.#entries]) this.#settle(entry, new Error(detail));
  }

  /** Resolves when all publishes in flight are answered; their deadline bounds it. */
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
    if (cause === undefined) this.heard();
    if (cause === undefined) this.#answer(entry);
    else this.#answer(entry, cause instanceof Fault ? cause : queueUnavailable(reasonOf(cause), cause));
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
    let late: Entry | undefined;
    for (const entry of this.#entries) {
      if (entry.startedAt > latest) break;
      late = entry;
      this.#answer(entry, queueUnavailable(`no confirmation within ${deadlineMs / 1000} s`));
    }
    if (late && this.#lastHeardAt <= late.startedAt) onSilence();
  }
}
