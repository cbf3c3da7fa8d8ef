import { join } from "node:path";
import { Consumer, Producer, stringSerializers } from "@platformatic/kafka";
import pino from "pino";
import { Connection } from "rabbitmq-client";
import { type Broker, BrokerBus, type BrokerLink } from "../../src/bus/broker-bus.ts";
import type { Bus, ExternalTopic } from "../../src/bus/bus.ts";
import { kafkaBroker } from "../../src/bus/kafka/kafka.ts";
import { localBus } from "../../src/bus/local.ts";
import type { LogName } from "../../src/bus/log.ts";
import { rabbitmqBroker } from "../../src/bus/rabbitmq/rabbitmq.ts";
import { systemClock } from "../../src/clock.ts";
import type { Logger } from "../../src/logger.ts";
import { InstanceLimits } from "../../src/workers/supervisor/instance-limits.ts";
import { SharedLog } from "../../src/workers/supervisor/shared-log.ts";
import { Switchboard } from "../../src/workers/supervisor/switchboard.ts";
import { WorkerBus } from "../../src/workers/worker/worker-bus.ts";
import { WorkerLink } from "../../src/workers/worker/worker-link.ts";

export const silentLog = pino({ level: "silent" });

export interface LogLine {
  level: number;
  msg: string;
  [field: string]: unknown;
}

/** A log that keeps its lines from `info` on. */
export function keptLog(): { log: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  return { log: pino({ level: "info", base: null, timestamp: false }, { write }), lines };
}

export interface BusSettings {
  prefix: string;
  instanceId: string;
  isDurable?: boolean;
  /** What it logs; if not given, nothing is kept. */
  log?: Logger;
  wrap?(broker: Broker): Broker;
}

/** An implementation of the bus. */
export interface BusUnderTest {
  name: string;
  bus(settings: BusSettings): Bus | Promise<Bus>;
}

export const localUnderTest: BusUnderTest = {
  name: "local",
  bus: () => localBus(systemClock, { broadcast: null, control: null }),
};

/** Workers of one supervisor for each prefix, with their sockets in this folder. */
export function workersUnderTest(folder: string): BusUnderTest & { stop(): void } {
  const supervisors = new Map<string, { switchboard: Switchboard; path: string; workers: number }>();
  const supervise = (prefix: string) => {
    const clock = systemClock;
    const windowsMs = { broadcast: 300_000, control: 300_000 };
    const files = { broadcast: null, control: null };
    const switchboard = new Switchboard({
      logs: new SharedLog({ windowsMs, maxBytes: 64 * 1024 * 1024, files, clock, steady: clock }),
      limits: new InstanceLimits({ maxConnections: 1, maxConnectionsPerUser: 1, connectRate: 0 }, clock),
      metrics: () => Promise.reject(new Error("not used")),
      workers: 3,
      isDraining: () => false,
      onServing() {},
      onDrained() {},
      clock,
      log: silentLog,
    });
    const supervisor = { switchboard, path: join(folder, `${prefix}.sock`), workers: 0 };
    switchboard.listen(supervisor.path);
    supervisors.set(prefix, supervisor);
    return supervisor;
  };
  return {
    name: "workers",
    async bus({ prefix }) {
      const supervisor = supervisors.get(prefix) ?? supervise(prefix);
      const secret = crypto.randomUUID();
      supervisor.switchboard.expect(++supervisor.workers, secret);
      const link = await WorkerLink.connect(supervisor.path, secret, () => {});
      return new WorkerBus(link, common);
    },
    stop() {
      for (const { switchboard } of supervisors.values()) switchboard.close();
    },
  };
}

/** A broker in a test: buses that use it, and another service that writes to it directly. */
export interface BrokerUnderTest extends BusUnderTest {
  name: "rabbitmq" | "kafka";
  url: string;
  bus(settings: BusSettings): Bus;
  /** Writes text as another service would; resolves once the broker has confirmed it. */
  write(prefix: string, topic: LogName | ExternalTopic, key: string, texts: string[]): Promise<void>;
  /** Reads a topic as another service would, from now on. */
  read(prefix: string, topic: ExternalTopic): Promise<TopicReader>;
  /** Whether the client library alone gets a confirmation: rejects while the broker is away. */
  probe(): Promise<void>;
}

export interface TopicReader {
  readonly messages: Record<string, unknown>[];
  stop(): Promise<void>;
}

/** Ends the sessions of one bus and lets it open no other, as a network that is cut. */
export class Cut {
  #isCut = false;
  #link: BrokerLink | undefined;

  readonly wrap = (broker: Broker): Broker => ({
    ...broker,
    open: (link) => {
      if (this.#isCut) return Promise.reject(new Error("the network is cut"));
      this.#link = link;
      return broker.open(link);
    },
  });

  begin(): void {
    this.#isCut = true;
    this.#link?.broken(new Error("the network is cut"));
  }

  end(): void {
    this.#isCut = false;
  }
}

let prefixes = 0;

/** Names that no other test uses. */
export function freshPrefix(): string {
  prefixes += 1;
  return `t${process.pid}-${Date.now().toString(36)}-${prefixes}`;
}

const common = { log: silentLog, clock: systemClock, random: Math.random };

/** A busy machine delays a write; whether the broker is away is to be known soon. */
const [writeTimeoutMs, probeTimeoutMs] = [20_000, 2_000];

async function writeToRabbitmq(
  url: string,
  exchange: string,
  texts: string[],
  timeoutMs = writeTimeoutMs,
): Promise<void> {
  const connection = new Connection({ url, acquireTimeout: timeoutMs, connectionTimeout: timeoutMs });
  connection.on("error", () => {});
  try {
    const publisher = connection.createPublisher({ confirm: true });
    await Promise.all(texts.map((text) => publisher.send({ exchange }, Buffer.from(text))));
    await publisher.close();
  } finally {
    connection.unsafeDestroy();
  }
}

async function writeToKafka(
  url: string,
  topic: string,
  key: string,
  texts: string[],
  timeoutMs = writeTimeoutMs,
): Promise<void> {
  const producer = new Producer({
    clientId: "another-service",
    bootstrapBrokers: [url.slice("kafka://".length)],
    serializers: stringSerializers,
    autocreateTopics: true,
    connectTimeout: timeoutMs,
    requestTimeout: timeoutMs,
    retries: 0,
  });
  try {
    await producer.send({ messages: texts.map((value) => ({ topic, key, value })) });
  } finally {
    await producer.close();
  }
}

/** A connection of another service. It opens again by itself after an error, which would otherwise end the test process. */
export function connectTo(url: string): Connection {
  const connection = new Connection(url);
  connection.on("error", () => {});
  return connection;
}

async function readFromRabbitmq(url: string, name: string): Promise<TopicReader> {
  const messages: Record<string, unknown>[] = [];
  const connection = connectTo(url);
  const isQueue = name.endsWith(".client");
  const consumer = connection.createConsumer(
    {
      queue: isQueue ? name : "",
      queueOptions: isQueue
        ? {
            durable: true,
            // Those of Slipway, which may have declared it before.
            arguments: {
              "x-max-length": 1_000_000,
              "x-max-length-bytes": 1024 * 1024 * 1024,
              "x-overflow": "reject-publish",
            },
          }
        : { exclusive: true },
      exchanges: isQueue ? [] : [{ exchange: name, type: "fanout", durable: true }],
      queueBindings: isQueue ? [] : [{ exchange: name }],
      concurrency: 1,
    },
    (message) => {
      messages.push(message.body);
    },
  );
  consumer.on("error", () => {});
  await new Promise<void>((resolve) => consumer.once("ready", resolve));
  return {
    messages,
    async stop() {
      await consumer.close();
      await connection.close();
    },
  };
}

async function readFromKafka(url: string, topic: string): Promise<TopicReader> {
  const messages: Record<string, unknown>[] = [];
  const bootstrapBrokers = [url.slice("kafka://".length)];
  const groupId = `reader-${crypto.randomUUID()}`;
  const consumer = new Consumer({ clientId: "reader", groupId, bootstrapBrokers, autocreateTopics: true });
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", maxWaitTime: 50 });
  stream.on("error", () => {});
  stream.on("data", (message) => {
    messages.push(JSON.parse(message.value.toString()));
  });
  return {
    messages,
    async stop() {
      await stream.close();
      await consumer.close();
    },
  };
}

export function rabbitmqUnderTest(url: string): BrokerUnderTest {
  return {
    name: "rabbitmq",
    url,
    bus: ({ prefix, instanceId, isDurable = true, log = silentLog, wrap = (broker) => broker }) =>
      new BrokerBus(wrap(rabbitmqBroker({ url, prefix, instanceId, isDurable, random: Math.random })), {
        ...common,
        log,
        prefix,
      }),
    write: (prefix, topic, _key, texts) => writeToRabbitmq(url, `${prefix}.${topic}`, texts),
    read: (prefix, topic) => readFromRabbitmq(url, `${prefix}.${topic}`),
    probe: () => writeToRabbitmq(url, "amq.fanout", ["probe"], probeTimeoutMs),
  };
}

export function kafkaUnderTest(url: string): BrokerUnderTest {
  return {
    name: "kafka",
    url,
    bus: ({ prefix, instanceId, isDurable = true, log = silentLog, wrap = (broker) => broker }) =>
      new BrokerBus(
        wrap(
          kafkaBroker({
            url,
            prefix,
            instanceId,
            isDurable,
            sasl: "none",
            random: Math.random,
            refreshMs: 500,
          }),
        ),
        {
          ...common,
          log,
          prefix,
        },
      ),
    write: (prefix, topic, key, texts) => writeToKafka(url, `${prefix}.${topic}`, key, texts),
    read: (prefix, topic) => readFromKafka(url, `${prefix}.${topic}`),
    probe: () => writeToKafka(url, "probe", "", ["probe"], probeTimeoutMs),
  };
}
