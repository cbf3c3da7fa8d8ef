import { Admin, Consumer, ProduceAcks, Producer, stringSerializers } from "@platformatic/kafka";
import type { Broker, BrokerLink, BrokerSession } from "../broker-bus.ts";
import type { ExternalTopic } from "../bus.ts";
import type { LogName } from "../log.ts";
import { inRandomOrder } from "../node-order.ts";
import { type KafkaSasl, parseKafkaAddress } from "./kafka-address.ts";
import { ExternalProducer, type TextProducer } from "./kafka-external-producer.ts";
import { KafkaProducer, TooFewReplicas } from "./kafka-producer.ts";
import { KafkaReader } from "./kafka-reader.ts";
import { ensureTopic, replicaWarning } from "./kafka-topics.ts";

export interface KafkaOptions {
  url: string;
  prefix: string;
  instanceId: string;
  isDurable: boolean;
  /** Whether the topic of client messages is created at once. */
  queuesClientMessages?: boolean | undefined;
  sasl: KafkaSasl;
  /** PEM text of the certificate authority; for kafkas. */
  tlsCa?: string | undefined;
  random(): number;
  /** How often the topics are looked up again. */
  refreshMs?: number;
}

const connectTimeoutMs = 3_000;
const requestTimeoutMs = 5_000;
const defaultRefreshMs = 10_000;

type Settings = ReturnType<typeof clientSettings>;

/**
 * A log is a topic with one partition. There is no consumer group: every instance reads every record. Every session has its
 * own clients, so that no broken client is used again.
 */
export function kafkaBroker(options: KafkaOptions): Broker {
  const settings = clientSettings(options);
  const bootstrap = settings.bootstrapBrokers[0] ?? "";
  /** By log: the topic that was read last. */
  const topicIds = new Map<LogName, string>();
  return {
    name: "kafka",
    // Transactions of other services use offsets too.
    isContiguous: false,
    async open(link) {
      const { signal } = link;
      link.connecting(settings.bootstrapBrokers.join(", "));
      const admin = closeOnAbort(signal, new Admin(settings));
      const build = () => buildProducer(settings, options.isDurable);
      const topicName = (topic: LogName | ExternalTopic) => `${options.prefix}.${topic}`;
      const readers: KafkaReader[] = [];
      for (const log of link.logs) {
        const name = topicName(log.name);
        await ensureTopic(admin, name, log.name);
        const reader = await KafkaReader.open({
          admin,
          // The library requires a group id; the broker never sees it.
          consumer: closeOnAbort(signal, new Consumer({ ...settings, groupId: "unused" })),
          log,
          name,
          formerId: topicIds.get(log.name),
          removal: `kafka-topics.sh --bootstrap-server ${bootstrap} --delete --topic ${name}`,
          signal,
          onReplicas: (replicas, brokers) =>
            link.warning(name, replicaWarning({ name, replicas, brokers, bootstrap })),
          onFailure: (cause) => link.broken(cause),
        });
        topicIds.set(log.name, reader.topicId);
        readers.push(reader);
      }
      const producer = closeOnAbort(signal, build());
      if (readers.length > 0) {
        // Requested now, because the first record would have to wait for it.
        if (options.isDurable) await producer.initIdempotentProducer({});
        await producer.metadata({ topics: link.logs.map(({ name }) => topicName(name)) });
      }
      for (const reader of readers) reader.start(options.refreshMs ?? defaultRefreshMs);
      const { session, external } = openSession(admin, producer, build, link, topicName);
      external.events.prepare();
      if (options.queuesClientMessages) external.client.prepare();
      return session;
    },
  };
}

/**
 * The logs share one producer, whose failure ends the session. Topics for other services have their own producers: a
 * missing permission there must not stop the instances.
 */
function openSession(
  admin: Admin,
  shared: TextProducer,
  build: () => TextProducer,
  link: BrokerLink,
  topicName: (topic: LogName | ExternalTopic) => string,
): { session: BrokerSession; external: Record<ExternalTopic, ExternalProducer> } {
  const logs = new KafkaProducer({
    send: (messages) => shared.send({ messages }).then(() => {}),
    onFailure: (cause) => {
      // The markers show when it accepts records again. Reading does not have to be interrupted.
      if (!(cause instanceof TooFewReplicas)) link.broken(cause);
    },
  });
  const externalProducer = (topic: ExternalTopic) =>
    new ExternalProducer(topic, link, build, () => ensureTopic(admin, topicName(topic), topic));
  const external = { client: externalProducer("client"), events: externalProducer("events") };
  const session: BrokerSession = {
    append: (log, id, value) => logs.send({ topic: topicName(log), key: id, value }),
    publish: (topic, key, _id, value) => external[topic].send({ topic: topicName(topic), key, value }),
    // The signal of the session closes the clients.
    async close() {},
  };
  return { session, external };
}

function clientSettings(options: KafkaOptions) {
  const address = parseKafkaAddress(options.url, options.sasl);
  return {
    clientId: `slipway-${options.instanceId}`,
    bootstrapBrokers: inRandomOrder(address.brokers, options.random),
    connectTimeout: connectTimeoutMs,
    requestTimeout: requestTimeoutMs,
    timeout: requestTimeoutMs,
    // The reconnector retries with new clients; retries of the library would hide an outage from it.
    retries: 0,
    ...(address.isTls
      ? { tls: options.tlsCa === undefined ? {} : { ca: options.tlsCa }, tlsServerName: true }
      : {}),
    ...(options.sasl === "none" ? {} : { sasl: saslOf(options.sasl, address) }),
  };
}

function buildProducer(settings: Settings, isDurable: boolean): TextProducer {
  return new Producer({
    ...settings,
    serializers: stringSerializers,
    autocreateTopics: false,
    // A topic that was just created or moved has no leader for a moment.
    retries: 2,
    retryDelay: 200,
    ...(isDurable ? { idempotent: true, acks: ProduceAcks.ALL } : { acks: ProduceAcks.LEADER }),
  });
}

const mechanisms = {
  plain: "PLAIN",
  "scram-sha-256": "SCRAM-SHA-256",
  "scram-sha-512": "SCRAM-SHA-512",
} as const;

function saslOf(sasl: Exclude<KafkaSasl, "none">, address: ReturnType<typeof parseKafkaAddress>) {
  return {
    mechanism: mechanisms[sasl],
    username: address.username ?? "",
    password: address.password ?? "",
  };
}

/** Closes a client of the library when its session ends. */
function closeOnAbort<Client extends { close(): Promise<void> }>(
  signal: AbortSignal,
  client: Client,
): Client {
  // Closing fails if the broker is gone, which does not matter.
  signal.addEventListener("abort", () => void client.close().catch(() => {}), { once: true });
  return client;
}
