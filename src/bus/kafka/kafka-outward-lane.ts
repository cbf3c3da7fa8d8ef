import type { Producer } from "@platformatic/kafka";
import type { BrokerLink } from "../broker-bus.ts";
import type { OutwardTopic } from "../bus.ts";
import { KafkaProducer, type KafkaRecord } from "./kafka-producer.ts";

export type TextProducer = Producer<string, string, string, string>;

/** Writes one topic that other services read, with a client of its own: a failure costs that client, not the session. */
export class OutwardLane {
  readonly #topic: OutwardTopic;
  readonly #link: BrokerLink;
  readonly #build: () => TextProducer;
  readonly #ensureTopic: () => Promise<void>;
  readonly #producer: KafkaProducer;
  #client: TextProducer | undefined;
  #ensured: Promise<void> | undefined;

  constructor(
    topic: OutwardTopic,
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

  async send(record: KafkaRecord): Promise<void> {
    this.#ensured ??= this.#ensureTopic().catch((cause: unknown) => {
      this.#fail(cause);
      throw cause;
    });
    await this.#ensured;
    await this.#producer.send(record);
  }

  #open(): TextProducer {
    if (this.#link.signal.aborted) throw new Error("the session has ended");
    this.#client ??= this.#build();
    return this.#client;
  }

  #fail(cause: unknown): void {
    this.#close();
    this.#link.refused(this.#topic, cause);
  }

  #close(): void {
    // A client whose broker is gone says so when it is closed; there is nobody left to tell.
    void this.#client?.close().catch(() => {});
    this.#client = undefined;
    this.#ensured = undefined;
  }
}
