import { type Channel, Connection } from "rabbitmq-client";
import { pause } from "../../clock.ts";
import type { Broker, BrokerLink } from "../broker-bus.ts";
import type { SharedTopic, Topic } from "../bus.ts";
import { consumeAll, type QueuedAtStart } from "./rabbitmq-consumer.ts";
import { Probes } from "./rabbitmq-probes.ts";
import { declareExchange, RabbitmqPublisher } from "./rabbitmq-publisher.ts";
import { declareKeyedQueue } from "./rabbitmq-recall.ts";

export interface RabbitmqOptions {
  url: string;
  prefix: string;
  instanceId: string;
  isDurable: boolean;
  queuesClientMessages?: boolean | undefined;
  /** PEM text of the certificate authority; for amqps. */
  tlsCa?: string | undefined;
}

const heartbeatSeconds = 10;
const connectTimeoutMs = 3_000;
const closeTimeoutMs = 2_000;
const catchUpLimitMs = 10_000;
const frameMaxBytes = 128 * 1024;

/**
 * Three durable fanout exchanges, and per instance one queue for each exchange that it consumes. Every session has new
 * connections, because the supervisor alone decides when to reconnect. Consuming has its own connection: RabbitMQ reads
 * nothing from a publishing connection that it blocks, not even its close.
 */
export function rabbitmqBroker(options: RabbitmqOptions): Broker {
  const possibleLosses = new Set<SharedTopic>();
  return {
    name: "rabbitmq",
    async open(link) {
      const [consuming, publishing] = await Promise.all([
        connect(options, link, "consuming"),
        connect(options, link, "publishing"),
      ]);
      publishing.on("connection.blocked", (reason) =>
        link.paused("blocked", `RabbitMQ accepts no messages: ${reason}`, "publishing"),
      );
      publishing.on("connection.unblocked", () => link.resumed("blocked"));
      await declareExchanges(consuming, options.prefix);
      const onExchangeMissing = () => {
        for (const topic of link.topics) possibleLosses.add(topic);
      };
      const publisher = await RabbitmqPublisher.open(publishing, { ...options, onExchangeMissing }, link);
      const keepsKeyed = await declareKeyedQueue(consuming, options.prefix, link);
      const probes = new Probes({
        prefix: options.prefix,
        send: (topic, probe) => publisher.sendProbe(topic, probe),
        link,
        possibleLosses,
      });
      const { queuedAtStart, consumers } = await consumeAll(
        consuming,
        { ...options, keepsKeyed },
        link,
        possibleLosses,
        probes,
      );
      waitForQueued(queuedAtStart, link);
      for (const consumer of consumers) probes.start(consumer);
      return {
        send: (topic, _key, message, body) => publisher.send(topic, message, body),
        async close() {
          await closeChannels([...consumers.map(({ channel }) => channel), ...publisher.channels]);
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
    socket: addressIn(options.url),
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

/** The library keeps the brackets of an IPv6 address and would resolve it as a name. */
function addressIn(url: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  const defaultPort = protocol === "amqps:" ? 5671 : 5672;
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? defaultPort : Number(port) };
}

async function declareExchanges(connection: Connection, prefix: string): Promise<void> {
  const channel = await connection.acquire();
  for (const topic of ["broadcast", "control"] satisfies Topic[])
    await declareExchange(channel, prefix, topic);
  await channel.close();
}

/** The instance is not ready while it handles the messages that were queued before. */
function waitForQueued(queuedAtStart: QueuedAtStart, link: BrokerLink): void {
  if (queuedAtStart.count === 0) return;
  link.paused("backlog", `catching up with ${queuedAtStart.count} messages`);
  const end = () => {
    clearTimeout(limit);
    link.resumed("backlog");
  };
  // A queue that is purged meanwhile never delivers them.
  const limit = setTimeout(end, catchUpLimitMs);
  link.signal.addEventListener("abort", () => clearTimeout(limit), { once: true });
  queuedAtStart.onEmpty(end);
}

/** Closing a channel first sends its pending acknowledgements. */
async function closeChannels(channels: Channel[]): Promise<void> {
  const tooLong = new AbortController();
  const closing = Promise.all(channels.map((channel) => channel.close()));
  await Promise.race([closing, pause(closeTimeoutMs, tooLong.signal)]);
  tooLong.abort();
}
