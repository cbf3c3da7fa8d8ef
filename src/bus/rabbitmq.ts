import { type AsyncMessage, type Channel, Connection } from "rabbitmq-client";
import type { Broker, BrokerLink, BrokerSession } from "./broker-bus.ts";
import type { SharedTopic, Topic } from "./bus.ts";

export interface RabbitmqOptions {
  url: string;
  prefix: string;
  instanceId: string;
  isDurable: boolean;
  /** PEM text of the certificate authority; for amqps. */
  tlsCa?: string | undefined;
}

/** A queue outlives its instance this long, so that a restart or a lost connection loses nothing. */
const queueExpiresMs = 10 * 60_000;
/** An instance that hangs must not fill the broker: its oldest messages go first. */
const queueMaxLength = 100_000;
const queueMaxBytes = 256 * 1024 * 1024;
/** Nobody may be there yet to read client messages; a full queue refuses instead of forgetting. */
const clientQueueMaxLength = 1_000_000;
const clientQueueMaxBytes = 1024 * 1024 * 1024;
const prefetch = 2_000;
const heartbeatSeconds = 10;
const connectTimeoutMs = 3_000;
const closeTimeoutMs = 2_000;
const catchUpLimitMs = 10_000;
const frameMaxBytes = 128 * 1024;

/**
 * Three durable fanout exchanges; per instance one queue per exchange that it consumes. Every session has a
 * connection of its own: the library would reconnect by itself, but then two parties would decide when we are ready.
 */
export function rabbitmqBroker(options: RabbitmqOptions): Broker {
  return {
    name: "rabbitmq",
    async open(link) {
      const connection = await connect(options, link);
      await declareExchanges(connection, options.prefix);
      const publisher = await Publisher.open(connection, options);
      const behind = await consumeAll(connection, options, link);
      watch(connection, link, behind);
      publisher.onClose((reason) => link.broken(reason));
      return publisher;
    },
  };
}

function connect(options: RabbitmqOptions, link: BrokerLink): Promise<Connection> {
  const connection = new Connection({
    url: options.url,
    connectionName: `slipway ${options.instanceId}`,
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

/** Answers how many messages had been waiting in the queues. */
async function consumeAll(
  connection: Connection,
  options: RabbitmqOptions,
  link: BrokerLink,
): Promise<Backlog> {
  const backlog = new Backlog();
  for (const topic of link.topics) await consume(connection, topic, options, link, backlog);
  return backlog;
}

async function consume(
  connection: Connection,
  topic: SharedTopic,
  { prefix, instanceId, isDurable }: RabbitmqOptions,
  link: BrokerLink,
  backlog: Backlog,
): Promise<void> {
  const channel = await connection.acquire();
  const exchange = `${prefix}.${topic}`;
  const declared = await channel.queueDeclare(
    isDurable
      ? { queue: `${exchange}.${instanceId}`, durable: true, arguments: instanceQueueArguments }
      : { queue: "", exclusive: true, arguments: boundedArguments },
  );
  const { queue } = declared;
  await channel.queueBind({ queue, exchange });
  await channel.basicQos({ prefetchCount: prefetch });
  backlog.expect(declared.messageCount);
  const turn = new Turn(channel, async (messages) => {
    const bodies = messages.map((message) => message.body);
    const handling = link.receive(topic, bodies);
    if (handling) await handling;
    backlog.arrived(messages.length);
  });
  // Exclusive: two instances under one id would each get half of the messages; the second is refused instead.
  await channel.basicConsume({ queue, exclusive: true }, (message) => turn.add(message));
  channel.on("basic.cancel", () => link.broken(new Error(`the queue ${queue} was deleted`)));
  channel.on("close", () =>
    queueMicrotask(() => link.broken(new Error(`the channel of ${queue} was closed`))),
  );
}

const boundedArguments = {
  "x-max-length": queueMaxLength,
  "x-max-length-bytes": queueMaxBytes,
  "x-overflow": "drop-head" as const,
};
const instanceQueueArguments = { ...boundedArguments, "x-expires": queueExpiresMs };

/**
 * Collects what one read from the socket brought, hands it over in one call and acknowledges it in one frame. While
 * that takes its time the next turn collects, up to the prefetch limit.
 */
class Turn {
  readonly #channel: Channel;
  readonly #handOver: (messages: AsyncMessage[]) => Promise<void>;
  #messages: AsyncMessage[] = [];
  #isBusy = false;

  constructor(channel: Channel, handOver: (messages: AsyncMessage[]) => Promise<void>) {
    this.#channel = channel;
    this.#handOver = handOver;
  }

  add(message: AsyncMessage): void {
    this.#messages.push(message);
    if (this.#isBusy) return;
    this.#isBusy = true;
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    // Of a channel that is gone nothing can be acknowledged: the broker delivers these again.
    while (this.#messages.length > 0 && this.#channel.active) {
      const messages = this.#messages;
      this.#messages = [];
      await this.#handOver(messages);
      const last = messages.at(-1);
      if (last && this.#channel.active) {
        this.#channel.basicAck({ deliveryTag: last.deliveryTag, multiple: true });
      }
    }
    this.#isBusy = false;
  }
}

/** Messages that waited while this instance was away: it is ready only after they have been handed over. */
class Backlog {
  #count = 0;
  #onEmpty: (() => void) | undefined;

  get count(): number {
    return this.#count;
  }

  expect(count: number): void {
    this.#count += count;
  }

  arrived(count: number): void {
    this.#count = Math.max(0, this.#count - count);
    if (this.#count === 0) this.#onEmpty?.();
  }

  onEmpty(listener: () => void): void {
    this.#onEmpty = listener;
  }
}

function watch(connection: Connection, link: BrokerLink, backlog: Backlog): void {
  connection.on("connection.blocked", (reason) => link.paused(`RabbitMQ takes no messages: ${reason}`));
  connection.on("connection.unblocked", () => link.resumed());
  if (backlog.count === 0) return;
  link.paused(`catching up with ${backlog.count} messages`);
  // A queue that was purged meanwhile never delivers them.
  const limit = setTimeout(() => link.resumed(), catchUpLimitMs);
  link.signal.addEventListener("abort", () => clearTimeout(limit), { once: true });
  backlog.onEmpty(() => {
    clearTimeout(limit);
    link.resumed();
  });
}

/** One channel in confirm mode: order is kept, confirmations are pipelined. */
class Publisher implements BrokerSession {
  readonly #connection: Connection;
  readonly #channel: Channel;
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
    this.#channel = channel;
    this.#options = options;
    channel.on("basic.return", (message) => {
      if (message.messageId) this.#returned.add(message.messageId);
    });
  }

  onClose(listener: (reason: Error) => void): void {
    this.#channel.on("close", () =>
      queueMicrotask(() => listener(new Error("the publishing channel was closed"))),
    );
  }

  send(topic: Topic, _key: string, id: string, body: string): Promise<void> {
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
    return this.#channel.basicPublish(
      { ...route, durable: this.#options.isDurable, messageId: id, contentType: "application/json" },
      Buffer.from(body),
    );
  }

  async close(): Promise<void> {
    await Promise.race([this.#channel.close(), Bun.sleep(closeTimeoutMs)]);
    this.#connection.unsafeDestroy();
  }
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
