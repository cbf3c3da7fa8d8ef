import {
  Admin,
  Consumer,
  type MultipleErrors,
  ProduceAcks,
  Producer,
  stringSerializers,
} from "@platformatic/kafka";
import { Fault } from "../../errors.ts";
import type { Broker, BrokerLink, BrokerSession } from "../broker-bus.ts";
import type { SharedTopic, Topic } from "../bus.ts";
import { type KafkaSasl, parseKafkaAddress } from "./kafka-address.ts";
import { OutwardLane, type TextProducer } from "./kafka-outward-lane.ts";
import { KafkaProducer } from "./kafka-producer.ts";
import { KafkaReader, type ReadPositions } from "./kafka-reader.ts";

export interface KafkaOptions {
  url: string;
  prefix: string;
  instanceId: string;
  isDurable: boolean;
  sasl: KafkaSasl;
  /** PEM text of the certificate authority; for kafkas. */
  tlsCa?: string | undefined;
  /** How often partitions that were added are looked for. */
  refreshMs?: number;
}

const connectTimeoutMs = 3_000;
const requestTimeoutMs = 5_000;
const defaultRefreshMs = 10_000;
const leaderWaitMs = 5_000;
const leaderPollMs = 50;

/**
 * Order is kept within a partition, so partitions bound how far one topic spreads over brokers, not how many instances
 * read it: every instance reads all of them. Retention covers an instance that lost its connection for a while;
 * what other services read is kept as long as the cluster keeps anything by default.
 */
const topicSettings = {
  broadcast: { partitions: 6, retentionMs: 60 * 60_000 },
  control: { partitions: 1, retentionMs: 60 * 60_000 },
  client: { partitions: 6, retentionMs: undefined },
  events: { partitions: 1, retentionMs: undefined },
} as const satisfies Record<Topic, { partitions: number; retentionMs: number | undefined }>;
/** Room for the largest published message after its envelope and escaping. */
const maxMessageBytes = 8 * 1024 * 1024;

type Settings = ReturnType<typeof clientSettings>;

/**
 * No consumer group: every instance reads every partition by itself, from the end at its first start and from where it
 * was after an outage. Every session has clients of its own, so that nothing half-dead survives into the next one.
 */
export function kafkaBroker(options: KafkaOptions): Broker {
  const settings = clientSettings(options);
  /** Survives the sessions: where reading goes on. */
  const positions = new Map<SharedTopic, ReadPositions>();
  return {
    name: "kafka",
    async open(link) {
      const admin = endWith(link.signal, new Admin(settings));
      const build = () => buildProducer(settings, options.isDurable);
      const producer = endWith(link.signal, build());
      const topicName = (topic: Topic) => `${options.prefix}.${topic}`;
      const readers: KafkaReader[] = [];
      for (const topic of link.topics) {
        await ensureTopic(admin, topicName(topic), topic);
        const ofTopic = positions.get(topic) ?? new Map();
        positions.set(topic, ofTopic);
        const reader = buildReader(settings, admin, link, topic, topicName(topic), ofTopic);
        await untilLed(() => reader.follow(), link.signal);
        readers.push(reader);
        // A broker that ended may have taken along what it alone had confirmed.
        if (!options.isDurable) link.lost(topic);
        const order = link.recall(topic);
        if (order) await reader.recall(order);
      }
      // Asked for now rather than by the first message, which would wait for it.
      if (options.isDurable) await producer.initIdempotentProducer({});
      await producer.metadata({ topics: link.topics.map(topicName) });
      for (const reader of readers) reader.start(options.refreshMs ?? defaultRefreshMs);
      return openSession(admin, producer, build, link, topicName);
    },
  };
}

function buildReader(
  settings: Settings,
  admin: Admin,
  link: BrokerLink,
  topic: SharedTopic,
  name: string,
  positions: ReadPositions,
): KafkaReader {
  return new KafkaReader({
    admin,
    // The library wants a group id of every consumer; the broker never sees it.
    consumer: endWith(link.signal, new Consumer({ ...settings, groupId: "unused" })),
    name,
    positions,
    signal: link.signal,
    receive: (records) => link.receive(topic, records),
    onLoss: () => link.lost(topic),
    onFailure: (cause) => link.broken(cause),
  });
}

/**
 * The instances talk over one producer; without it there is no session. What other services read goes over producers of
 * its own: a right that is missing there must not keep the instances from talking.
 */
function openSession(
  admin: Admin,
  shared: TextProducer,
  build: () => TextProducer,
  link: BrokerLink,
  topicName: (topic: Topic) => string,
): BrokerSession {
  const lane = new KafkaProducer({
    send: (messages) => shared.send({ messages }).then(() => {}),
    onFailure: (cause) => link.broken(cause),
  });
  const outward = {
    client: new OutwardLane("client", link, build, () => ensureTopic(admin, topicName("client"), "client")),
    events: new OutwardLane("events", link, build, () => ensureTopic(admin, topicName("events"), "events")),
  };
  return {
    send(topic, key, _message, value) {
      const record = { topic: topicName(topic), key, value };
      return topic === "client" || topic === "events" ? outward[topic].send(record) : lane.send(record);
    },
    // The clients end with the session's signal.
    async close() {},
  };
}

function clientSettings(options: KafkaOptions) {
  const address = parseKafkaAddress(options.url, options.sasl);
  return {
    clientId: `slipway-${options.instanceId}`,
    bootstrapBrokers: address.brokers,
    connectTimeout: connectTimeoutMs,
    requestTimeout: requestTimeoutMs,
    timeout: requestTimeoutMs,
    // The supervisor repeats, with fresh clients: the library's own repeats would hide an outage from it.
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
    // A topic that was just created, or moves, has no leader for a moment.
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
    // Another instance was faster.
    if ((error as MultipleErrors).findBy?.("apiId", "TOPIC_ALREADY_EXISTS")) return;
    throw new Fault(
      "unavailable",
      `The Kafka topic ${name} is missing and cannot be created; create it, or allow this user to.`,
      { cause: error },
    );
  }
}

/** A topic that was just created has no leaders for a moment. */
async function untilLed(attempt: () => Promise<void>, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + leaderWaitMs;
  while (true) {
    try {
      return await attempt();
    } catch (error) {
      const mayPass = (error as MultipleErrors).findBy?.("hasStaleMetadata", true) != null;
      if (!mayPass || signal.aborted || Date.now() > deadline) throw error;
      await Bun.sleep(leaderPollMs);
    }
  }
}

/** Closes a client of the library with the session that uses it. */
function endWith<Client extends { close(): Promise<void> }>(signal: AbortSignal, client: Client): Client {
  // A client whose broker is gone says so when it is closed; there is nobody left to tell.
  signal.addEventListener("abort", () => void client.close().catch(() => {}), { once: true });
  return client;
}
