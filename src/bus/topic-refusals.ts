import type { Clock } from "../clock.ts";
import type { Fault } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { ExternalTopic } from "./bus.ts";
import { reasonOf } from "./failure-reason.ts";
import { queueUnavailable } from "./in-flight.ts";

interface Refusal {
  fault: Fault;
  atMs: number;
  loggedAtMs: number;
}

/** The broker is not asked again within this time, because each refusal costs a channel or a connection. */
const retryAfterMs = 1_000;
const logAgainMs = 60_000;

/** Topics for other services that the broker refuses. All other topics keep working. */
export class TopicRefusals {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #refusals = new Map<string, Refusal>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  add(topic: ExternalTopic, cause: unknown): void {
    const atMs = this.#clock.now();
    const loggedAtMs = this.#refusals.get(topic)?.loggedAtMs ?? Number.NEGATIVE_INFINITY;
    const isLogged = atMs - loggedAtMs >= logAgainMs;
    if (isLogged) this.#log.warn({ topic, error: reasonOf(cause) }, "the message queue refuses a topic");
    this.#refusals.set(topic, {
      fault: queueUnavailable(reasonOf(cause), cause),
      atMs,
      loggedAtMs: isLogged ? atMs : loggedAtMs,
    });
  }

  /** The fault of a recent refusal; undefined: ask the broker. */
  of(topic: string): Fault | undefined {
    const refusal = this.#refusals.get(topic);
    return refusal && this.#clock.now() - refusal.atMs < retryAfterMs ? refusal.fault : undefined;
  }
}
