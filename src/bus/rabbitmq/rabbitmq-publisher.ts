import { AMQPError, type Channel, type Connection } from "rabbitmq-client";
import type { BrokerLink } from "../broker-bus.ts";
import type { ExternalTopic } from "../bus.ts";
import type { LogName } from "../log.ts";
import { ConfirmChannel, type Envelope } from "./rabbitmq-confirm-channel.ts";

export interface PublisherOptions {
  prefix: string;
  isDurable: boolean;
  /** Whether the queue of client messages is declared at once, so that readers find it. */
  queuesClientMessages?: boolean | undefined;
}

/** There may be no reader of client messages yet. A full queue refuses new messages and drops none. */
const clientQueueMaxLength = 1_000_000;
const clientQueueMaxBytes = 1024 * 1024 * 1024;

/**
 * The logs share one channel, whose failure ends the session. Topics for other services have their own channels: a missing
 * permission there must not stop the instances. Logs and the client queue are published to with `mandatory`, because
 * otherwise the broker confirms messages that reach no queue.
 */
export class RabbitmqPublisher {
  readonly #connection: Connection;
  readonly #options: PublisherOptions;
  readonly #link: BrokerLink;
  readonly #logs: ConfirmChannel;
  readonly #events: ConfirmChannel;
  readonly #client: ConfirmChannel;
  readonly #returned = new Set<string>();
  #clientQueue: Promise<void> | undefined;

  static async open(
    connection: Connection,
    options: PublisherOptions,
    link: BrokerLink,
  ): Promise<RabbitmqPublisher> {
    const publisher = new RabbitmqPublisher(connection, options, link);
    if (link.logs.length > 0) await publisher.#logs.open();
    // Opened before the first event, so that readers find the exchange. A refusal was reported by `onRefused`.
    await publisher.#events.open().catch(() => {});
    if (options.queuesClientMessages) await publisher.#ensureClientQueue().catch(() => {});
    return publisher;
  }

  private constructor(connection: Connection, options: PublisherOptions, link: BrokerLink) {
    this.#connection = connection;
    this.#options = options;
    this.#link = link;
    const onReturned = (messageId: string | undefined) => messageId && this.#returned.add(messageId);
    this.#logs = new ConfirmChannel({
      connection,
      onReturned,
      onRefused: (cause) => {
        if (cause instanceof AMQPError && cause.code === "NOT_FOUND") this.#reportLosses();
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
      onReturned,
      onRefused: (cause) => link.topicRefused("client", cause),
    });
  }

  async append(log: LogName, id: string, body: string): Promise<void> {
    const exchange = `${this.#options.prefix}.${log}`;
    try {
      const isRouted = await this.#publishMandatory(this.#logs, { exchange }, id, body);
      if (isRouted) return;
    } catch (cause) {
      if (!(cause instanceof AMQPError) || cause.code !== "NACK") throw cause;
      // The stream may have the record.
      throw new Error(`a queue bound to ${exchange} refuses messages: empty or remove it`, { cause });
    }
    // Records of other services were lost in the same way.
    this.#reportLosses(log);
    const unbound = new Error(`no queue is bound to the exchange ${exchange}`);
    this.#link.broken(unbound);
    throw unbound;
  }

  publish(topic: ExternalTopic, id: string, body: string): Promise<void> {
    if (topic === "client") return this.#publishToClientQueue(id, body);
    const exchange = `${this.#options.prefix}.${topic}`;
    return this.#events.publish(this.#envelope({ exchange }, id), Buffer.from(body));
  }

  async #publishToClientQueue(id: string, body: string): Promise<void> {
    const queue = this.#clientQueueName;
    await this.#ensureClientQueue();
    if (await this.#publishMandatory(this.#client, { routingKey: queue }, id, body)) return;
    this.#clientQueue = undefined;
    throw new Error(`the queue ${queue} does not exist`);
  }

  /** False: the message reached no queue. */
  async #publishMandatory(
    channel: ConfirmChannel,
    route: Envelope,
    id: string,
    body: string,
  ): Promise<boolean> {
    await channel.publish(this.#envelope({ ...route, mandatory: true }, id), Buffer.from(body));
    // The library reports a returned message one turn after its confirmation.
    await new Promise((resolve) => setImmediate(resolve));
    return !this.#returned.delete(id);
  }

  #reportLosses(name?: LogName): void {
    for (const log of this.#link.logs) if (name === undefined || log.name === name) log.reportLoss();
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
      this.#link.topicRefused("client", cause);
      throw cause;
    }
  }

  #envelope(route: Envelope, id: string): Envelope {
    return { ...route, durable: this.#options.isDurable, messageId: id, contentType: "application/json" };
  }
}

export function declareExchange(
  channel: Channel,
  prefix: string,
  topic: LogName | ExternalTopic,
): Promise<void> {
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
