import { type Channel, Connection } from "rabbitmq-client";
import { pause } from "../../clock.ts";
import type { Broker, BrokerLink } from "../broker-bus.ts";
import type { SharedTopic, Topic } from "../bus.ts";
import { type Backlog, consumeAll } from "./rabbitmq-consumer.ts";
import { declareExchange, RabbitmqPublisher } from "./rabbitmq-publisher.ts";
import { declareKeyedQueue } from "./rabbitmq-recall.ts";

export interface RabbitmqOptions {
  url: string;
  prefix: string;
  instanceId: string;
  isDurable: boolean;
  /** PEM text of the certificate authority; for amqps. */
  tlsCa?: string | undefined;
}

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
      const publisher = await RabbitmqPublisher.open(publishing, options, link);
      const keepsKeyed = await declareKeyedQueue(consuming, options.prefix, link);
      const { backlog, channels } = await consumeAll(consuming, { ...options, keepsKeyed }, link, doubts);
      catchUp(backlog, link);
      return {
        send: (topic, _key, message, body) => publisher.send(topic, message, body),
        async close() {
          await closeInOrder([...channels, ...publisher.channels]);
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

/** The library would look an IPv6 address up as a name, because it leaves the brackets of the URL around it. */
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

/** A channel that is closed sends first what it still has to say: what was handed over is acknowledged. */
async function closeInOrder(channels: Channel[]): Promise<void> {
  const tooLong = new AbortController();
  const closing = Promise.all(channels.map((channel) => channel.close()));
  await Promise.race([closing, pause(closeTimeoutMs, tooLong.signal)]);
  tooLong.abort();
}
