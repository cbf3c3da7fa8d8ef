import type { Channel, Connection } from "rabbitmq-client";
import type { BrokerLink } from "../broker-bus.ts";
import type { BusMessage, Topic } from "../bus.ts";
import { type Envelope, RabbitmqLane } from "./rabbitmq-lane.ts";
import { keyedHeaders } from "./rabbitmq-recall.ts";

export interface PublisherOptions {
  prefix: string;
  isDurable: boolean;
}

/** Nobody may be there yet to read client messages; a full queue refuses instead of forgetting. */
const clientQueueMaxLength = 1_000_000;
const clientQueueMaxBytes = 1024 * 1024 * 1024;

/**
 * The instances talk over one lane; without it there is no session. What other services read goes over lanes of its
 * own: a right that is missing there must not keep the instances from talking.
 */
export class RabbitmqPublisher {
  readonly #connection: Connection;
  readonly #options: PublisherOptions;
  readonly #shared: RabbitmqLane;
  readonly #events: RabbitmqLane;
  readonly #client: RabbitmqLane;
  readonly #returned = new Set<string>();
  readonly #onRefused: BrokerLink["refused"];
  #clientQueue: Promise<void> | undefined;

  static async open(
    connection: Connection,
    options: PublisherOptions,
    link: BrokerLink,
  ): Promise<RabbitmqPublisher> {
    const publisher = new RabbitmqPublisher(connection, options, link);
    await publisher.#shared.open();
    // Opened before there is an event, so that others find the exchange; a refusal has been told by then.
    await publisher.#events.open().catch(() => {});
    return publisher;
  }

  private constructor(connection: Connection, options: PublisherOptions, link: BrokerLink) {
    this.#connection = connection;
    this.#options = options;
    this.#onRefused = link.refused;
    this.#shared = new RabbitmqLane({ connection, onRefused: (cause) => link.broken(cause) });
    this.#events = new RabbitmqLane({
      connection,
      prepare: (channel) => declareExchange(channel, options.prefix, "events"),
      onRefused: (cause) => link.refused("events", cause),
    });
    this.#client = new RabbitmqLane({
      connection,
      onRefused: (cause) => link.refused("client", cause),
      onReturned: (messageId) => messageId && this.#returned.add(messageId),
    });
  }

  /** Those that are open. */
  get channels(): Channel[] {
    return [this.#shared, this.#events, this.#client].flatMap(({ channel }) => channel ?? []);
  }

  send(topic: Topic, { id, idempotencyKey }: BusMessage, body: string): Promise<void> {
    if (topic === "client") return this.#sendToClientQueue(id, body);
    const lane = topic === "events" ? this.#events : this.#shared;
    const exchange = `${this.#options.prefix}.${topic}`;
    const route: Envelope = idempotencyKey === undefined ? { exchange } : { exchange, headers: keyedHeaders };
    return lane.publish(this.#envelope(route, id), Buffer.from(body));
  }

  /** `mandatory`, because the broker also confirms what reaches no queue at all. */
  async #sendToClientQueue(id: string, body: string): Promise<void> {
    const queue = `${this.#options.prefix}.client`;
    this.#clientQueue ??= declareClientQueue(this.#connection, queue);
    try {
      await this.#clientQueue;
    } catch (cause) {
      this.#clientQueue = undefined;
      this.#onRefused("client", cause);
      throw cause;
    }
    const envelope = this.#envelope({ routingKey: queue, mandatory: true }, id);
    await this.#client.publish(envelope, Buffer.from(body));
    // The library reports a return one turn later than the confirmation that follows it.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.#returned.delete(id)) return;
    this.#clientQueue = undefined;
    throw new Error(`the queue ${queue} does not exist`);
  }

  #envelope(route: Envelope, id: string): Envelope {
    return { ...route, durable: this.#options.isDurable, messageId: id, contentType: "application/json" };
  }
}

export function declareExchange(channel: Channel, prefix: string, topic: Topic): Promise<void> {
  return channel.exchangeDeclare({ exchange: `${prefix}.${topic}`, type: "fanout", durable: true });
}

/** A queue that the operator has declared, with arguments of his own, is taken as it is. */
async function declareClientQueue(connection: Connection, queue: string): Promise<void> {
  const probe = await connection.acquire({ emitErrorsFromChannel: true });
  const isThere = await probe.queueDeclare({ queue, passive: true }).then(
    () => true,
    () => false,
  );
  if (isThere) return await probe.close();
  const channel = await connection.acquire();
  await channel.queueDeclare({
    queue,
    durable: true,
    arguments: {
      "x-max-length": clientQueueMaxLength,
      "x-max-length-bytes": clientQueueMaxBytes,
      "x-overflow": "reject-publish",
    },
  });
  await channel.close();
}
