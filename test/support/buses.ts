import { Producer, stringSerializers } from "@platformatic/kafka";
import pino from "pino";
import { Connection } from "rabbitmq-client";
import { BrokerBus } from "../../src/bus/broker-bus.ts";
import type { Bus, Topic } from "../../src/bus/bus.ts";
import { kafkaBroker } from "../../src/bus/kafka.ts";
import { rabbitmqBroker } from "../../src/bus/rabbitmq.ts";
import { systemClock } from "../../src/clock.ts";

export const silentLog = pino({ level: "silent" });

export interface BusSettings {
  prefix: string;
  instanceId: string;
  isDurable?: boolean;
}

/** One broker as the tests see it: buses over it, and another service that writes to it directly. */
export interface BrokerUnderTest {
  name: "rabbitmq" | "kafka";
  url: string;
  bus(settings: BusSettings): Bus;
  /** Writes text as another service would; resolves once the broker has confirmed it. */
  write(prefix: string, topic: Topic, key: string, texts: string[]): Promise<void>;
  /** Whether the client library alone gets a confirmation: rejects while the broker is away. */
  probe(): Promise<void>;
}

let prefixes = 0;

/** Names that no other test uses. */
export function freshPrefix(): string {
  prefixes += 1;
  return `t${process.pid}-${Date.now().toString(36)}-${prefixes}`;
}

const common = { log: silentLog, clock: systemClock, random: Math.random };

async function writeToRabbitmq(url: string, exchange: string, texts: string[]): Promise<void> {
  const connection = new Connection({ url, acquireTimeout: 2_000, connectionTimeout: 2_000 });
  connection.on("error", () => {});
  try {
    const publisher = connection.createPublisher({ confirm: true });
    await Promise.all(texts.map((text) => publisher.send({ exchange }, Buffer.from(text))));
    await publisher.close();
  } finally {
    connection.unsafeDestroy();
  }
}

async function writeToKafka(url: string, topic: string, key: string, texts: string[]): Promise<void> {
  const producer = new Producer({
    clientId: "another-service",
    bootstrapBrokers: [url.slice("kafka://".length)],
    serializers: stringSerializers,
    autocreateTopics: true,
    connectTimeout: 2_000,
    requestTimeout: 2_000,
    retries: 0,
  });
  try {
    await producer.send({ messages: texts.map((value) => ({ topic, key, value })) });
  } finally {
    await producer.close();
  }
}

export function rabbitmqUnderTest(url: string): BrokerUnderTest {
  return {
    name: "rabbitmq",
    url,
    bus: ({ prefix, instanceId, isDurable = true }) =>
      new BrokerBus(rabbitmqBroker({ url, prefix, instanceId, isDurable }), { ...common, prefix }),
    write: (prefix, topic, _key, texts) => writeToRabbitmq(url, `${prefix}.${topic}`, texts),
    probe: () => writeToRabbitmq(url, "amq.fanout", ["probe"]),
  };
}

export function kafkaUnderTest(url: string): BrokerUnderTest {
  return {
    name: "kafka",
    url,
    bus: ({ prefix, instanceId, isDurable = true }) =>
      new BrokerBus(kafkaBroker({ url, prefix, instanceId, isDurable, sasl: "none", refreshMs: 500 }), {
        ...common,
        prefix,
      }),
    write: (prefix, topic, key, texts) => writeToKafka(url, `${prefix}.${topic}`, key, texts),
    probe: () => writeToKafka(url, "probe", "", ["probe"]),
  };
}
