import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";

/** `away`: there is no session with the broker. `refusing`: there is one, and the broker takes no records. */
type Outage = "away" | "refusing";

const texts: Record<Outage, string> = {
  away:
    "the message queue is not available, and publishes are answered 503: check that the broker runs and that push.queue.url names it. " +
    "It is tried again until it answers",
  refusing:
    "the message queue accepts no messages, and publishes are answered 503; reading continues. Resolve what `detail` names at the broker: " +
    "nothing has to be restarted",
};

const logAgainMs = 60_000;
const refusedEveryMs = 10_000;

/** The log lines about the queue: one for each change, and one for all publishes that were refused in ten seconds. */
export class OutageLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #refusedEveryMs: number;
  readonly #loggedAt = new Map<Outage, number>();
  #beganAt: number | undefined;
  #refusedSince = 0;
  #refusedInPeriod = 0;
  #lastReason = "";
  #period: ReturnType<typeof setTimeout> | undefined;

  constructor(log: Logger, clock: Clock, everyMs = refusedEveryMs) {
    this.#log = log;
    this.#clock = clock;
    this.#refusedEveryMs = everyMs;
  }

  /** Logs once at the start of an outage and then once a minute, not per attempt. */
  note(outage: Outage, detail: string): void {
    const now = this.#clock.now();
    this.#beganAt ??= now;
    if (now - (this.#loggedAt.get(outage) ?? Number.NEGATIVE_INFINITY) < logAgainMs) return;
    this.#loggedAt.set(outage, now);
    this.#log.warn({ detail }, texts[outage]);
  }

  /** The queue is ready, for the first time or after an outage. */
  noteReady(detail: string): void {
    const outage =
      this.#beganAt === undefined
        ? {}
        : {
            outageSeconds: Math.round((this.#clock.now() - this.#beganAt) / 1000),
            refused: this.#refusedSince,
          };
    this.#beganAt = undefined;
    this.#refusedSince = 0;
    this.#loggedAt.clear();
    this.#log.info({ detail, ...outage }, "the message queue is ready");
  }

  noteRefused(reason: string): void {
    this.#refusedSince++;
    this.#refusedInPeriod++;
    this.#lastReason = reason;
    if (this.#period !== undefined) return;
    this.#period = setTimeout(() => this.#endPeriod(), this.#refusedEveryMs);
    this.#period.unref();
  }

  close(): void {
    if (this.#period !== undefined) this.#endPeriod();
  }

  #endPeriod(): void {
    clearTimeout(this.#period);
    this.#period = undefined;
    this.#log.warn(
      { refused: this.#refusedInPeriod, lastReason: this.#lastReason },
      "publishes were refused; their callers should repeat them with the same Idempotency-Key",
    );
    this.#refusedInPeriod = 0;
  }
}
