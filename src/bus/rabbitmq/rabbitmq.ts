import { Connection } from "rabbitmq-client";
import { type Broker, type BrokerLink, blocked } from "../broker-bus.ts";
import { inRandomOrder } from "../node-order.ts";
import { RabbitmqPublisher } from "./rabbitmq-publisher.ts";
import { declareStream, readStream } from "./rabbitmq-stream.ts";
import { serverVersion } from "./rabbitmq-version.ts";

export interface RabbitmqOptions {
  url: string;
  prefix: string;
  instanceId: string;
  isDurable: boolean;
  queuesClientMessages?: boolean | undefined;
  /** PEM text of the certificate authority; for amqps. */
  tlsCa?: string | undefined;
  random(): number;
}

const heartbeatSeconds = 10;
const connectTimeoutMs = 3_000;
const frameMaxBytes = 128 * 1024;

/**
 * A log is a stream that is bound to a durable fanout exchange of the same name. Every session has new connections, because
 * the reconnector alone decides when to reconnect. Reading has its own connection: RabbitMQ reads nothing from a publishing
 * connection that it blocks, not even acknowledgements.
 */
export function rabbitmqBroker(settings: RabbitmqOptions): Broker {
  const { prefix } = settings;
  const nodes = inRandomOrder(nodeUrls(settings.url), settings.random);
  let sessions = 0;
  return {
    name: "rabbitmq",
    isContiguous: true,
    async open(link) {
      // Every session uses one node, and the next session another.
      const options = { ...settings, url: nodes[sessions++ % nodes.length] ?? settings.url };
      const { host, port } = addressIn(options.url);
      link.connecting(host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`);
      // A bus that carries only the topics for other services reads nothing.
      const [publishing, reading = publishing] = await Promise.all([
        connect(options, link, "publishing"),
        link.logs.length > 0 ? connect(options, link, "reading") : undefined,
      ]);
      publishing.on("connection.blocked", (reason) =>
        link.paused(blocked, `RabbitMQ accepts no messages: ${alarmText(reason)}`, "publishing"),
      );
      publishing.on("connection.unblocked", () => link.resumed(blocked));
      for (const log of link.logs) {
        await declareStream(reading, log, { ...options, serverVersion: () => versionOf(options) });
        await readStream(reading, log, `${prefix}.${log.name}`, link);
      }
      const publisher = await RabbitmqPublisher.open(publishing, options, link);
      return {
        append: (log, id, body) => publisher.append(log, id, body),
        publish: (topic, _key, id, body) => publisher.publish(topic, id, body),
        // The signal of the session closes the connections.
        async close() {},
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

/** RabbitMQ says "low on memory", "low on disk" or both. */
function alarmText(reason: string): string {
  const remedies = [
    ...(reason.includes("memory") ? ["free memory or raise vm_memory_high_watermark"] : []),
    ...(reason.includes("disk") ? ["free disk space or lower disk_free_limit"] : []),
  ];
  return `${reason}; ${remedies.join(", ") || "end the alarm that `rabbitmq-diagnostics alarms` names"}`;
}

/** `amqp://user:password@a:5672,b:5672/vhost` as one URL per node of the cluster. */
export function nodeUrls(url: string): string[] {
  const [, head = "", hosts = "", path = ""] = /^(\w+:\/\/(?:[^@/]*@)?)([^/?#]*)(.*)$/.exec(url) ?? [];
  return hosts.split(",").map((host) => `${head}${host}${path}`);
}

/** The library keeps the brackets of an IPv6 address and would resolve it as a name. */
function addressIn(url: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  const defaultPort = protocol === "amqps:" ? 5671 : 5672;
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? defaultPort : Number(port) };
}

function versionOf({ url, tlsCa }: RabbitmqOptions): Promise<string> {
  const isTls = url.startsWith("amqps:");
  const authority = tlsCa === undefined ? {} : { ca: tlsCa };
  return serverVersion({ ...addressIn(url), tls: isTls ? authority : undefined });
}
