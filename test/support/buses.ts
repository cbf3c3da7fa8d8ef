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
}

let prefixes = 0;

/** Names that no other test uses. */
export function freshPrefix(): string {
  prefixes += 1;
  return `t${process.pid}-${Date.now().toString(36)}-${prefixes}`;
}

const common = { log: silentLog, clock: systemClock, random: Math.random };

export function rabbitmqUnderTest(url: string): BrokerUnderTest {
  return {
    name: "rabbitmq",
    url,
    bus: ({ prefix, instanceId, isDurable = true }) =>
      new BrokerBus(rabbitmqBroker({ url, prefix, instanceId, isDurable }), { ...common, prefix }),
    async write(prefix, topic, _key, texts) {
      const connection = new Connection(url);
      const publisher = connection.createPublisher({ confirm: true });
      await Promise.all(
        texts.map((text) => publisher.send({ exchange: `${prefix}.${topic}` }, Buffer.from(text))),
      );
      await publisher.close();
      await connection.close();
    },
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
    async write(prefix, topic, key, texts) {
      const producer = new Producer({
        clientId: "another-service",
        bootstrapBrokers: [url.slice("kafka://".length)],
        serializers: stringSerializers,
      });
      await producer.send({
        messages: texts.map((value) => ({ topic: `${prefix}.${topic}`, key, value })),
      });
      await producer.close();
    },
  };
}
