import { AMQPError, type Channel, type Connection } from "rabbitmq-client";
import type { BrokerLink } from "../broker-bus.ts";
import type { BusMessage, SharedTopic, Topic } from "../bus.ts";
import { ConfirmChannel, type Envelope } from "./rabbitmq-confirm-channel.ts";
import type { Probe } from "./rabbitmq-probes.ts";
import { keyedHeaders } from "./rabbitmq-recall.ts";

export interface PublisherOptions {
  prefix: string;
  isDurable: boolean;
  /** Whether the queue of client messages is declared at once, so that readers find it. */
  queuesClientMessages?: boolean | undefined;
  /** An exchange between instances was deleted, and the bindings of all queues with it. */
  onExchangeMissing(): void;
}

/** There may be no reader of client messages yet. A full queue refuses new messages and drops none. */
const clientQueueMaxLength = 1_000_000;
const clientQueueMaxBytes = 1024 * 1024 * 1024;

/**
 * Topics between instances share one channel, whose failure ends the session. Topics for other services have their own
 * channels: a missing permission there must not stop the instances.
 */
export class RabbitmqPublisher {
  readonly #connection: Connection;
  readonly #options: PublisherOptions;
  readonly #shared: ConfirmChannel;
  readonly #events: ConfirmChannel;
  readonly #client: ConfirmChannel;
  readonly #returned = new Set<string>();
  readonly #onRefused: BrokerLink["topicRefused"];
  #clientQueue: Promise<void> | undefined;

  static async open(
    connection: Connection,
    options: PublisherOptions,
    link: BrokerLink,
  ): Promise<RabbitmqPublisher> {
    const publisher = new RabbitmqPublisher(connection, options, link);
    await publisher.#shared.open();
    // Opened before the first event, so that readers find the exchange. A refusal was reported by `onRefused`.
    await publisher.#events.open().catch(() => {});
    if (options.queuesClientMessages) await publisher.#ensureClientQueue().catch(() => {});
    return publisher;
  }

  private constructor(connection: Connection, options: PublisherOptions, link: BrokerLink) {
    this.#connection = connection;
    this.#options = options;
    this.#onRefused = link.topicRefused;
    this.#shared = new ConfirmChannel({
      connection,
      onRefused(cause) {
        if (cause instanceof AMQPError && cause.code === "NOT_FOUND") options.onExchangeMissing();
        link.broken(cause);
      },
    });
    this.#events = new ConfirmChannel({
      connection,
      prepare: (channel) => declareExchange(channel, options.prefix, "events"),
      onRefused: (cause) => link.topicRefused("events", cause),
    });
    this.#client = new ConfirmChannel({
      connection,
      onRefused: (cause) => link.topicRefused("client", cause),
      onReturned: (messageId) => messageId && this.#returned.add(messageId),
    });
  }

  /** The open channels. */
  get channels(): Channel[] {
    return [this.#shared, this.#events, this.#client].flatMap(({ channel }) => channel ?? []);
  }

  send(topic: Topic, { id, idempotencyKey }: BusMessage, body: string): Promise<void> {
    if (topic === "client") return this.#sendToClientQueue(id, body);
    const channel = topic === "events" ? this.#events : this.#shared;
    const exchange = `${this.#options.prefix}.${topic}`;
    const route: Envelope = idempotencyKey === undefined ? { exchange } : { exchange, headers: keyedHeaders };
    return channel.publish(this.#envelope(route, id), Buffer.from(body));
  }

  /** See `Probes`. */
  sendProbe(topic: SharedTopic, { id, headers }: Probe): Promise<void> {
    const envelope = { exchange: `${this.#options.prefix}.${topic}`, messageId: id, headers };
    return this.#shared.publish(envelope, Buffer.from(JSON.stringify({ id })));
  }

  /** `mandatory`, because otherwise the broker confirms messages that reach no queue. */
  async #sendToClientQueue(id: string, body: string): Promise<void> {
    const queue = this.#clientQueueName;
    await this.#ensureClientQueue();
    const envelope = this.#envelope({ routingKey: queue, mandatory: true }, id);
    await this.#client.publish(envelope, Buffer.from(body));
    // The library reports a returned message one turn after its confirmation.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.#returned.delete(id)) return;
    this.#clientQueue = undefined;
    throw new Error(`the queue ${queue} does not exist`);
  }

  get #clientQueueName(): string {
    return `${this.#options.prefix}.client`;
  }

  async #ensureClientQueue(): Promise<void> {
    this.#clientQueue ??= declareClientQueue(this.#connection, this.#clientQueueName);
    try {
      await this.#clientQueue;
    } catch (cause) {
      this.#clientQueue = undefined;
      this.#onRefused("client", cause);
      throw cause;
    }
  }

  #envelope(route: Envelope, id: string): Envelope {
    return { ...route, durable: this.#options.isDurable, messageId: id, contentType: "application/json" };
  }
}

export function declareExchange(channel: Channel, prefix: string, topic: Topic): Promise<void> {
  return channel.exchangeDeclare({ exchange: `${prefix}.${topic}`, type: "fanout", durable: true });
}

/** Uses an existing queue as it is, because operators may declare it with other arguments. */
async function declareClientQueue(connection: Connection, queue: string): Promise<void> {
  const probe = await connection.acquire({ emitErrorsFromChannel: true });
  const exists = await probe.queueDeclare({ queue, passive: true }).then(
    () => true,
    () => false,
  );
  if (exists) return await probe.close();
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
