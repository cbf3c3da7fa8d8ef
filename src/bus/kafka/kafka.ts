import {
  Admin,
  Consumer,
  type MultipleErrors,
  ProduceAcks,
  Producer,
  stringSerializers,
} from "@platformatic/kafka";
import { steadyClock } from "../../clock.ts";
import { Fault } from "../../errors.ts";
import type { Broker, BrokerLink, BrokerSession } from "../broker-bus.ts";
import type { ExternalTopic, SharedTopic, Topic } from "../bus.ts";
import { type KafkaSasl, parseKafkaAddress } from "./kafka-address.ts";
import { ExternalProducer, type TextProducer } from "./kafka-external-producer.ts";
import { ReadPace } from "./kafka-pace.ts";
import { KafkaProducer } from "./kafka-producer.ts";
import { KafkaReader, type KafkaReaderOptions } from "./kafka-reader.ts";

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
  /** How often the partitions are read again, to find new ones. */
  refreshMs?: number;
}

const connectTimeoutMs = 3_000;
const requestTimeoutMs = 5_000;
const defaultRefreshMs = 10_000;
const leaderWaitMs = 5_000;
const leaderPollMs = 50;

/**
 * Every instance reads all partitions; their number limits only how many brokers share the load of a topic. Retention
 * covers an instance that is disconnected for a while; topics for other services have the default of the cluster.
 */
const topicSettings = {
  broadcast: { partitions: 6, retentionMs: 60 * 60_000 },
  control: { partitions: 1, retentionMs: 60 * 60_000 },
  client: { partitions: 6, retentionMs: undefined },
  events: { partitions: 1, retentionMs: undefined },
} as const satisfies Record<Topic, { partitions: number; retentionMs: number | undefined }>;
/** Room for the largest published message with envelope and escaping. */
const maxMessageBytes = 8 * 1024 * 1024;

type Settings = ReturnType<typeof clientSettings>;
type Progress = Pick<KafkaReaderOptions, "positions" | "pace">;

/**
 * Uses no consumer group: every instance reads every partition, from the end at its first start and from where it stopped
 * after an outage. Every session has its own clients, so that no broken client is used again.
 */
export function kafkaBroker(options: KafkaOptions): Broker {
  const settings = clientSettings(options);
  /** Kept across sessions, to continue where the last one stopped. */
  const progress = new Map<SharedTopic, Progress>();
  return {
    name: "kafka",
    async open(link) {
      const admin = closeOnAbort(link.signal, new Admin(settings));
      const build = () => buildProducer(settings, options.isDurable);
      const producer = closeOnAbort(link.signal, build());
      const topicName = (topic: Topic) => `${options.prefix}.${topic}`;
      const readers: KafkaReader[] = [];
      for (const topic of link.topics) {
        await ensureTopic(admin, topicName(topic), topic);
        const topicProgress = progress.get(topic) ?? {
          positions: new Map(),
          pace: new ReadPace(steadyClock),
        };
        progress.set(topic, topicProgress);
        const reader = buildReader(settings, admin, link, topic, topicName(topic), topicProgress);
        await untilLeadersExist(() => reader.refresh(), link.signal);
        readers.push(reader);
        // Without durability a broker that ended may have lost records that it had confirmed.
        if (!options.isDurable) link.reportLoss(topic);
        const request = link.recallRequest(topic);
        if (request) await reader.recall(request);
      }
      // Requested now, because the first message would have to wait for it.
      if (options.isDurable) await producer.initIdempotentProducer({});
      await producer.metadata({ topics: link.topics.map(topicName) });
      for (const reader of readers) reader.start(options.refreshMs ?? defaultRefreshMs);
      const { session, external } = openSession(admin, producer, build, link, topicName);
      external.events.prepare();
      if (options.queuesClientMessages) external.client.prepare();
      return session;
    },
  };
}

function buildReader(
  settings: Settings,
  admin: Admin,
  link: BrokerLink,
  topic: SharedTopic,
  name: string,
  progress: Progress,
): KafkaReader {
  return new KafkaReader({
    admin,
    // The library requires a group id; the broker never sees it.
    consumer: closeOnAbort(link.signal, new Consumer({ ...settings, groupId: "unused" })),
    name,
    ...progress,
    signal: link.signal,
    receive: (records) => link.receive(topic, records),
    onLoss: () => link.reportLoss(topic),
    onReordered: () => link.reportReordered(topic),
    onFailure: (cause) => link.broken(cause),
  });
}

/**
 * Topics between instances share one producer, whose failure ends the session. Topics for other services have their own
 * producers: a missing permission there must not stop the instances.
 */
function openSession(
  admin: Admin,
  shared: TextProducer,
  build: () => TextProducer,
  link: BrokerLink,
  topicName: (topic: Topic) => string,
): { session: BrokerSession; external: Record<ExternalTopic, ExternalProducer> } {
  const sharedProducer = new KafkaProducer({
    send: (messages) => shared.send({ messages }).then(() => {}),
    onFailure: (cause) => link.broken(cause),
  });
  const external = {
    client: new ExternalProducer("client", link, build, () =>
      ensureTopic(admin, topicName("client"), "client"),
    ),
    events: new ExternalProducer("events", link, build, () =>
      ensureTopic(admin, topicName("events"), "events"),
    ),
  };
  const session: BrokerSession = {
    send(topic, key, _message, value) {
      const record = { topic: topicName(topic), key, value };
      return topic === "client" || topic === "events"
        ? external[topic].send(record)
        : sharedProducer.send(record);
    },
    // The signal of the session closes the clients.
    async close() {},
  };
  return { session, external };
}

function clientSettings(options: KafkaOptions) {
  const address = parseKafkaAddress(options.url, options.sasl);
  return {
    clientId: `slipway-${options.instanceId}`,
    bootstrapBrokers: address.brokers,
    connectTimeout: connectTimeoutMs,
    requestTimeout: requestTimeoutMs,
    timeout: requestTimeoutMs,
    // The supervisor retries with new clients; retries of the library would hide an outage from it.
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

async function ensureTopic(admin: Admin, name: string, topic: Topic): Promise<void> {
  if ((await admin.listTopics()).includes(name)) return;
  const { partitions, retentionMs } = topicSettings[topic];
  try {
    await admin.createTopics({
      topics: [name],
      partitions,
      replicas: -1,
      configs: [
        { name: "max.message.bytes", value: String(maxMessageBytes) },
        ...(retentionMs === undefined ? [] : [{ name: "retention.ms", value: String(retentionMs) }]),
      ],
    });
  } catch (error) {
    // Another instance created it first.
    if ((error as MultipleErrors).findBy?.("apiId", "TOPIC_ALREADY_EXISTS")) return;
    throw new Fault(
      "unavailable",
      `The Kafka topic ${name} is missing and cannot be created; create it, or allow this user to.`,
      { cause: error },
    );
  }
}

/** A topic that was just created has no leaders for a moment. */
async function untilLeadersExist(attempt: () => Promise<void>, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + leaderWaitMs;
  while (true) {
    try {
      return await attempt();
    } catch (error) {
      const isTemporary = (error as MultipleErrors).findBy?.("hasStaleMetadata", true) != null;
      if (!isTemporary || signal.aborted || Date.now() > deadline) throw error;
      await Bun.sleep(leaderPollMs);
    }
  }
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
