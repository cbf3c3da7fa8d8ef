import { type Channel, Connection } from "rabbitmq-client";
import { pause } from "../clock.ts";
import type { Broker, BrokerLink } from "./broker-bus.ts";
import type { SharedTopic, Topic } from "./bus.ts";
import { type Backlog, consumeAll } from "./rabbitmq-consumer.ts";

export interface RabbitmqOptions {
  url: string;
  prefix: string;
  instanceId: string;
  isDurable: boolean;
  /** PEM text of the certificate authority; for amqps. */
  tlsCa?: string | undefined;
}

/** Nobody may be there yet to read client messages; a full queue refuses instead of forgetting. */
const clientQueueMaxLength = 1_000_000;
const clientQueueMaxBytes = 1024 * 1024 * 1024;
const heartbeatSeconds = 10;
const connectTimeoutMs = 3_000;
const closeTimeoutMs = 2_000;
const catchUpLimitMs = 10_000;
const frameMaxBytes = 128 * 1024;

/**
 * Three durable fanout exchanges; per instance one queue per exchange that it consumes. Every session has connections
 * of its own: the library would reconnect by itself, but then two parties would decide when we are ready. One of them
 * only consumes, because RabbitMQ reads nothing from a publisher that it blocks, not even that it has gone.
 */
export function rabbitmqBroker(options: RabbitmqOptions): Broker {
  const doubts = new Set<SharedTopic>();
  return {
    name: "rabbitmq",
    async open(link) {
      const [consuming, publishing] = await Promise.all([
        connect(options, link, "consuming"),
        connect(options, link, "publishing"),
      ]);
      publishing.on("connection.blocked", (reason) =>
        link.paused("blocked", `RabbitMQ takes no messages: ${reason}`),
      );
      publishing.on("connection.unblocked", () => link.resumed("blocked"));
      await declareExchanges(consuming, options.prefix);
      const publisher = await Publisher.open(publishing, options);
      const { backlog, channels } = await consumeAll(consuming, options, link, doubts);
      catchUp(backlog, link);
      publisher.onClose((reason) => link.broken(reason));
      return {
        send: (topic, _key, id, body) => publisher.send(topic, id, body),
        async close() {
          await closeInOrder([...channels, publisher.channel]);
          consuming.unsafeDestroy();
          publishing.unsafeDestroy();
        },
      };
    },
  };
}

function connect(options: RabbitmqOptions, link: BrokerLink, purpose: string): Promise<Connection> {
  const connection = new Connection({
    url: options.url,
    connectionName: `slipway ${options.instanceId}, ${purpose}`,
    heartbeat: heartbeatSeconds,
    connectionTimeout: connectTimeoutMs,
    acquireTimeout: connectTimeoutMs,
    frameMax: frameMaxBytes,
    noDelay: true,
    ...(options.tlsCa === undefined ? {} : { tls: { ca: options.tlsCa } }),
  });
  link.signal.addEventListener("abort", () => connection.unsafeDestroy(), { once: true });
  return new Promise((resolve, reject) => {
    connection.once("connection", () => resolve(connection));
    connection.on("error", (error) => {
      reject(error);
      link.broken(error);
    });
    link.signal.addEventListener("abort", () => reject(link.signal.reason), { once: true });
  });
}

async function declareExchanges(connection: Connection, prefix: string): Promise<void> {
  const channel = await connection.acquire();
  for (const topic of ["broadcast", "control", "events"] satisfies Topic[]) {
    await channel.exchangeDeclare({ exchange: `${prefix}.${topic}`, type: "fanout", durable: true });
  }
  await channel.close();
}

function catchUp(backlog: Backlog, link: BrokerLink): void {
  if (backlog.count === 0) return;
  link.paused("backlog", `catching up with ${backlog.count} messages`);
  const end = () => {
    clearTimeout(limit);
    link.resumed("backlog");
  };
  // A queue that was purged meanwhile never delivers them.
  const limit = setTimeout(end, catchUpLimitMs);
  link.signal.addEventListener("abort", () => clearTimeout(limit), { once: true });
  backlog.onEmpty(end);
}

/** One channel in confirm mode: order is kept, confirmations are pipelined. */
class Publisher {
  readonly #connection: Connection;
  readonly channel: Channel;
  readonly #options: RabbitmqOptions;
  readonly #returned = new Set<string>();
  #clientQueue: Promise<void> | undefined;

  static async open(connection: Connection, options: RabbitmqOptions): Promise<Publisher> {
    const channel = await connection.acquire();
    await channel.confirmSelect();
    return new Publisher(connection, channel, options);
  }

  private constructor(connection: Connection, channel: Channel, options: RabbitmqOptions) {
    this.#connection = connection;
    this.channel = channel;
    this.#options = options;
    channel.on("basic.return", (message) => {
      if (message.messageId) this.#returned.add(message.messageId);
    });
  }

  onClose(listener: (reason: Error) => void): void {
    this.channel.on("close", () =>
      queueMicrotask(() => listener(new Error("the publishing channel was closed"))),
    );
  }

  send(topic: Topic, id: string, body: string): Promise<void> {
    if (topic === "client") return this.#sendToClientQueue(id, body);
    return this.#publish({ exchange: `${this.#options.prefix}.${topic}` }, id, body);
  }

  /** `mandatory`, because the broker also confirms what reaches no queue at all. */
  async #sendToClientQueue(id: string, body: string): Promise<void> {
    const queue = `${this.#options.prefix}.client`;
    this.#clientQueue ??= declareClientQueue(this.#connection, queue);
    await this.#clientQueue;
    await this.#publish({ routingKey: queue, mandatory: true }, id, body);
    // The library reports a return one turn later than the confirmation that follows it.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.#returned.delete(id)) return;
    this.#clientQueue = undefined;
    throw new Error(`the queue ${queue} does not exist`);
  }

  #publish(route: Parameters<Channel["basicPublish"]>[0] & object, id: string, body: string): Promise<void> {
    return this.channel.basicPublish(
      { ...route, durable: this.#options.isDurable, messageId: id, contentType: "application/json" },
      Buffer.from(body),
    );
  }
}

/** A channel that is closed sends first what it still has to say: what was handed over is acknowledged. */
async function closeInOrder(channels: Channel[]): Promise<void> {
  const tooLong = new AbortController();
  const closing = Promise.all(channels.map((channel) => channel.close()));
  await Promise.race([closing, pause(closeTimeoutMs, tooLong.signal)]);
  tooLong.abort();
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
