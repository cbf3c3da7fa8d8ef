import type { Producer } from "@platformatic/kafka";
import type { BrokerLink } from "../broker-bus.ts";
import type { ExternalTopic } from "../bus.ts";
import { KafkaProducer, type KafkaRecord } from "./kafka-producer.ts";

export type TextProducer = Producer<string, string, string, string>;

/** Writes one topic for other services, with its own client: a failure ends that client and not the session. */
export class ExternalProducer {
  readonly #topic: ExternalTopic;
  readonly #link: BrokerLink;
  readonly #build: () => TextProducer;
  readonly #ensureTopic: () => Promise<void>;
  readonly #producer: KafkaProducer;
  #client: TextProducer | undefined;
  #ensured: Promise<void> | undefined;

  constructor(
    topic: ExternalTopic,
    link: BrokerLink,
    build: () => TextProducer,
    ensureTopic: () => Promise<void>,
  ) {
    this.#topic = topic;
    this.#link = link;
    this.#build = build;
    this.#ensureTopic = ensureTopic;
    this.#producer = new KafkaProducer({
      send: (messages) =>
        this.#open()
          .send({ messages })
          .then(() => {}),
      onFailure: (cause) => this.#fail(cause),
    });
    link.signal.addEventListener("abort", () => this.#close(), { once: true });
  }

  /** Creates the topic before the first message, so that readers find it. A refusal is reported. */
  prepare(): void {
    void this.#ensure().catch(() => {});
  }

  async send(record: KafkaRecord): Promise<void> {
    await this.#ensure();
    await this.#producer.send(record);
  }

  #ensure(): Promise<void> {
    this.#ensured ??= this.#ensureTopic().catch((cause: unknown) => {
      this.#fail(cause);
      throw cause;
    });
    return this.#ensured;
  }

  #open(): TextProducer {
    if (this.#link.signal.aborted) throw new Error("the session has ended");
    this.#client ??= this.#build();
    return this.#client;
  }

  #fail(cause: unknown): void {
    this.#close();
    this.#link.topicRefused(this.#topic, cause);
  }

  #close(): void {
    // Closing fails if the broker is gone, which does not matter.
    void this.#client?.close().catch(() => {});
    this.#client = undefined;
    this.#ensured = undefined;
  }
}
