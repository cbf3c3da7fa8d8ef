import { AMQPError, type AsyncMessage } from "rabbitmq-client";
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

export interface ProbesOptions {
  prefix: string;
  send(topic: SharedTopic, probe: Probe): Promise<void>;
  link: BrokerLink;
  possibleLosses: Set<SharedTopic>;
}

/**
 * Sends messages to itself. RabbitMQ tells a consumer nothing when its queue is unbound or when the exchange is deleted, and
 * another instance declares the exchange again: the queue then stays empty. A probe that does not return shows it. The
 * session is usable after the first probes are confirmed, because a missing permission to publish shows only then.
 */
export class Probes {
  readonly #options: ProbesOptions;
  readonly #id = `probe-${crypto.randomUUID()}`;
  /** By the number of the probe. */
  readonly #awaited = new Map<string, () => void>();
  #count = 0;

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  start(consumer: ProbedConsumer): void {
    const { topic } = consumer;
    const { link } = this.#options;
    link.paused(`first ${topic}`, `waiting until RabbitMQ accepts a message for ${topic}`, "unknown");
    this.#run(consumer).catch((cause) => link.broken(cause));
  }

  /** Call with each message that arrives. */
  receive({ messageId, headers }: AsyncMessage): void {
    if (messageId !== this.#id) return;
    const number = String(headers?.[header]);
    this.#awaited.get(number)?.();
    this.#awaited.delete(number);
  }

  async #run(consumer: ProbedConsumer): Promise<void> {
    const { link, possibleLosses, prefix } = this.#options;
    const { signal, paused, resumed, broken } = link;
    const { topic } = consumer;
    for (let isFirst = true; !signal.aborted; await pause(intervalMs, signal)) {
      const number = String(++this.#count);
      const returned = new Promise<void>((resolve) => this.#awaited.set(number, resolve));
      if (!(await this.#isAccepted(topic, number))) {
        this.#awaited.delete(number);
        const detail = `a queue bound to ${prefix}.${topic} refuses messages: empty or remove it`;
        if (isFirst) paused(`first ${topic}`, detail, "publishing");
        continue;
      }
      isFirst = false;
      resumed(`first ${topic}`);
      await Promise.race([returned, pause(returnsWithinMs, signal)]);
      while (this.#awaited.has(number) && !signal.aborted) {
        if ((await consumer.isIdle()) && this.#awaited.has(number)) {
          // Reported by the next session, which binds the queue.
          possibleLosses.add(topic);
          broken(new Error(`the queue for ${topic} was no longer bound to its exchange`));
          return;
        }
        await pause(returnsWithinMs, signal);
      }
    }
  }

  /** False: a full queue of another service that is bound to the exchange refuses messages. Other queues may have it. */
  async #isAccepted(topic: SharedTopic, number: string): Promise<boolean> {
    try {
      await this.#options.send(topic, { id: this.#id, headers: { [header]: number } });
      return true;
    } catch (cause) {
      if (cause instanceof AMQPError && cause.code === "NACK") return false;
      throw cause;
    }
  }
}

/** Probes, also those of other instances, are not messages. */
export function isProbe({ headers }: AsyncMessage): boolean {
  return headers?.[header] !== undefined;
}
