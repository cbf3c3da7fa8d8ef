import type { AsyncMessage } from "rabbitmq-client";
import { pause } from "../../clock.ts";
import type { BrokerLink } from "../broker-bus.ts";
import type { SharedTopic } from "../bus.ts";

const header = "slipway-probe";
const intervalMs = 5_000;
/** A probe that waits behind other messages is not lost. */
const returnsWithinMs = 2_000;

export interface Probe {
  /** Always the same one for a session: instances of earlier versions report it as invalid once and then drop it as a repeat. */
  id: string;
  headers: Record<string, string>;
}

export interface ProbedConsumer {
  topic: SharedTopic;
  isIdle(): Promise<boolean>;
}

/**
 * Sends messages to itself. RabbitMQ tells a consumer nothing when its queue is unbound or when the exchange is deleted, and
 * another instance declares the exchange again: the queue then stays empty. A probe that does not return shows it. The
 * session is usable after the first probes are confirmed, because a missing permission to publish shows only then.
 */
export class Probes {
  readonly #send: (topic: SharedTopic, probe: Probe) => Promise<void>;
  readonly #link: BrokerLink;
  readonly #possibleLosses: Set<SharedTopic>;
  readonly #id = `probe-${crypto.randomUUID()}`;
  /** By the number of the probe. */
  readonly #awaited = new Map<string, () => void>();
  #count = 0;

  constructor(
    send: (topic: SharedTopic, probe: Probe) => Promise<void>,
    link: BrokerLink,
    possibleLosses: Set<SharedTopic>,
  ) {
    this.#send = send;
    this.#link = link;
    this.#possibleLosses = possibleLosses;
  }

  start(consumer: ProbedConsumer): void {
    const { topic } = consumer;
    this.#link.paused(`first ${topic}`, `waiting until RabbitMQ accepts a message for ${topic}`, "unknown");
    this.#run(consumer).catch((cause) => this.#link.broken(cause));
  }

  /** Call with each message that arrives. */
  receive({ messageId, headers }: AsyncMessage): void {
    if (messageId !== this.#id) return;
    const number = String(headers?.[header]);
    this.#awaited.get(number)?.();
    this.#awaited.delete(number);
  }

  async #run(consumer: ProbedConsumer): Promise<void> {
    const { signal, resumed, broken } = this.#link;
    const { topic } = consumer;
    while (!signal.aborted) {
      const number = String(++this.#count);
      const returned = new Promise<void>((resolve) => this.#awaited.set(number, resolve));
      await this.#send(topic, { id: this.#id, headers: { [header]: number } });
      resumed(`first ${topic}`);
      await Promise.race([returned, pause(returnsWithinMs, signal)]);
      while (this.#awaited.has(number) && !signal.aborted) {
        if ((await consumer.isIdle()) && this.#awaited.has(number)) {
          // Reported by the next session, which binds the queue.
          this.#possibleLosses.add(topic);
          broken(new Error(`the queue for ${topic} was no longer bound to its exchange`));
          return;
        }
        await pause(returnsWithinMs, signal);
      }
      await pause(intervalMs, signal);
    }
  }
}

/** Probes, also those of other instances, are not messages. */
export function isProbe({ headers }: AsyncMessage): boolean {
  return headers?.[header] !== undefined;
}
