import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { Admin, Producer, stringSerializers } from "@platformatic/kafka";
import { BrokerBus } from "../../src/bus/broker-bus.ts";
import type { Bus, BusMessage, BusState } from "../../src/bus/bus.ts";
import { type KafkaOptions, kafkaBroker } from "../../src/bus/kafka/kafka.ts";
import { parseKafkaAddress } from "../../src/bus/kafka/kafka-address.ts";
import { startOffset } from "../../src/bus/kafka/kafka-reader.ts";
import { systemClock } from "../../src/clock.ts";
import { freshPrefix, kafkaUnderTest, silentLog } from "../support/buses.ts";
import { makeCertificate } from "../support/certificate.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { startKafka } from "../support/kafka.ts";
import { serviceUrl } from "../support/services.ts";

const kafkaUrl = await serviceUrl("kafka");
const opened: Bus[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((bus) => bus.close()));
});

async function collect(bus: Bus): Promise<{ id: string }[]> {
  const received: { id: string }[] = [];
  bus.subscribe("broadcast", (messages) => {
    received.push(...(messages as { id: string }[]));
  });
  bus.start();
  opened.push(bus);
  return received;
}

test("a list of brokers, credentials and TLS are read from push.queue.url", () => {
  expect(parseKafkaAddress("kafka://a:9092,b", "none")).toEqual({
    brokers: ["a:9092", "b:9092"],
    isTls: false,
    username: undefined,
    password: undefined,
  });
  expect(parseKafkaAddress("kafkas://al%40ice:s:e%2Fcret@host:9093", "plain")).toEqual({
    brokers: ["host:9093"],
    isTls: true,
    username: "al@ice",
    password: "s:e/cret",
  });
  expect(() => parseKafkaAddress("kafka://alice:secret@host", "none")).toThrow("push.queue.sasl is none");
  expect(() => parseKafkaAddress("kafka://host", "scram-sha-256")).toThrow("names no user and password");
  expect(() => parseKafkaAddress("kafka://host/path", "none")).toThrow("without a path");
});

test("reading starts at the end, continues where it stopped, within what the broker still has", () => {
  const bounds = { earliest: 10n, latest: 20n };
  expect(startOffset(undefined, false, bounds)).toBe(20n);
  expect(startOffset(undefined, true, bounds)).toBe(10n);
  expect(startOffset(15n, false, bounds)).toBe(15n);
  expect(startOffset(5n, false, bounds)).toBe(10n);
  expect(startOffset(25n, false, bounds)).toBe(20n);
});

describe.if(kafkaUrl !== undefined)("Kafka", () => {
  const url = kafkaUrl ?? "";
  const bootstrapBrokers = [url.slice("kafka://".length)];

  test("topics are created when missing, with partitions, retention and the cluster's replication", async () => {
    const prefix = freshPrefix();
    const bus = kafkaUnderTest(url).bus({ prefix, instanceId: "one" });
    await collect(bus);
    await eventually("the bus is ready", () => bus.state().ready);
    const admin = new Admin({ clientId: "test", bootstrapBrokers });
    const name = `${prefix}.broadcast`;
    const metadata = await admin.metadata({ topics: [name] });
    expect(metadata.topics.get(name)?.partitionsCount).toBe(6);
    const [described] = await admin.describeConfigs({
      resources: [{ resourceType: 2, resourceName: name, configurationKeys: ["retention.ms"] }],
    });
    expect(described?.configs?.[0]?.value).toBe("3600000");
    await admin.close();
  });

  test("a loss is reported when reading begins, and when the broker no longer has the next records", async () => {
    const prefix = freshPrefix();
    const bus = kafkaUnderTest(url).bus({ prefix, instanceId: "one" });
    const gate = Promise.withResolvers<void>();
    const heard: string[] = [];
    const handle = async (messages: unknown[]) => {
      heard.push(...(messages as { id: string }[]).map(({ id }) => id));
      await gate.promise;
    };
    bus.subscribe("broadcast", handle, () => heard.push("loss"));
    bus.start();
    opened.push(bus);
    await eventually("the bus is ready", () => bus.state().ready);
    const send = (id: string) => bus.publish("broadcast", "user:1", { id });
    await send("first");
    await eventually("it is being handled", () => heard.includes("first"));
    await send("too old");
    const admin = new Admin({ clientId: "test", bootstrapBrokers });
    const partitions = Array.from({ length: 6 }, (_, partition) => ({ partition, offset: -1n }));
    await admin.deleteRecords({ topics: [{ name: `${prefix}.broadcast`, partitions }] });
    gate.resolve();
    await eventually("it is noticed", () => heard.at(-1) === "loss");
    await eventually("the bus is ready again", () => bus.state().ready);
    await send("last");
    await eventually("it arrived", () => heard.includes("last"));
    expect(heard).toEqual(["loss", "first", "loss", "last"]);
    await admin.close();
  });

  test("new partitions are read from their beginning", async () => {
    const prefix = freshPrefix();
    const bus = kafkaUnderTest(url).bus({ prefix, instanceId: "one" });
    const received = await collect(bus);
    await eventually("the bus is ready", () => bus.state().ready);
    const admin = new Admin({ clientId: "test", bootstrapBrokers });
    const topic = `${prefix}.broadcast`;
    await admin.createPartitions({ topics: [{ name: topic, count: 8 }] });
    const producer = new Producer({ clientId: "test", bootstrapBrokers, serializers: stringSerializers });
    await eventually("the new partition is there", async () => {
      const metadata = await producer.metadata({ topics: [topic], forceUpdate: true });
      return metadata.topics.get(topic)?.partitions[7]?.leader === 1;
    });
    await producer.send({
      messages: [{ topic, partition: 7, value: JSON.stringify({ id: "in the new one" }) }],
    });
    await eventually("it arrived", () => received.length === 1);
    expect(bus.state().ready).toBe(true);
    await Promise.all([admin.close(), producer.close()]);
  });
});

describe.if(kafkaUrl !== undefined)("Kafka that refuses", () => {
  const url = kafkaUrl ?? "";
  const admin = new Admin({ clientId: "test", bootstrapBrokers: [url.slice("kafka://".length)] });
  afterAll(() => admin.close());

  async function open(prefix: string) {
    const bus = kafkaUnderTest(url).bus({ prefix, instanceId: "one" });
    const received = await collect(bus);
    await eventually("the bus is ready", () => bus.state().ready);
    const states: BusState[] = [];
    bus.onStateChange((state) => states.push(state));
    return { bus, received, states };
  }

  test("a message that is too large is refused, and all others arrive in order", async () => {
    const prefix = freshPrefix();
    const configs = [{ name: "max.message.bytes", value: "200000" }];
    await admin.createTopics({ topics: [`${prefix}.broadcast`], partitions: 1, replicas: 1, configs });
    const { bus, received, states } = await open(prefix);
    const text = "x".repeat(50_000);
    const ids = Array.from({ length: 20 }, (_, number) => `together-${number}`);
    // More than the topic accepts in one batch, with one message that it never accepts.
    const publishing = ids.map((id) => bus.publish("broadcast", "user:1", { id, text } as BusMessage));
    const large = { id: "large", text: text.repeat(5) } as BusMessage;
    publishing.splice(5, 0, bus.publish("broadcast", "user:1", large));
    const outcomes = await Promise.allSettled(publishing);
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(refused.map(({ reason }) => reason.code)).toEqual(["too_large"]);
    await bus.publish("broadcast", "user:1", { id: "last" });
    await eventually("the last arrived", () => received.at(-1)?.id === "last");
    expect(received.map(({ id }) => id)).toEqual([...ids, "last"]);
    expect(states).toEqual([]);
  });

  test("a topic of other services that cannot be written does not stop the instances", async () => {
    const prefix = freshPrefix();
    const { bus, received, states } = await open(prefix);
    const isTaken = () =>
      bus.publish("events", "user:1", { id: crypto.randomUUID() }).then(
        () => true,
        () => false,
      );
    await eventually("an event is taken", isTaken);
    await admin.deleteTopics({ topics: [`${prefix}.events`] });
    await eventually("an event is refused", async () => !(await isTaken()));
    await bus.publish("broadcast", "user:1", { id: "still talking" });
    await eventually("it arrived", () => received.length === 1);
    await eventually("events are taken again", isTaken);
    expect(states).toEqual([]);
  });
});

describe.if(kafkaUrl !== undefined)("Kafka with TLS and SASL", () => {
  const stops: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const stop of stops) await stop();
  });

  test("PLAIN and SCRAM work over TLS with a checked certificate; a wrong password or authority is reported", async () => {
    const { certificate, key } = await makeCertificate();
    const port = freePort();
    const service = await startKafka({ port, certificate, key, user: "alice", password: "let-me-in" });
    stops.push(() => service.stop());
    const open = (options: Partial<KafkaOptions>) => {
      const prefix = freshPrefix();
      const bus = new BrokerBus(
        kafkaBroker({
          url: `kafkas://alice:let-me-in@localhost:${port}`,
          prefix,
          instanceId: "one",
          isDurable: true,
          sasl: "plain",
          tlsCa: certificate,
          ...options,
        }),
        { prefix, log: silentLog, clock: systemClock, random: Math.random },
      );
      return { bus, received: collect(bus) };
    };
    for (const sasl of ["plain", "scram-sha-256", "scram-sha-512"] as const) {
      const { bus, received } = open({ sasl });
      await eventually(`ready with ${sasl}`, () => bus.state().ready);
      await bus.publish("broadcast", "user:1", { id: sasl });
      await eventually("it arrived", async () => (await received).length === 1);
    }
    const wrongPassword = open({ url: `kafkas://alice:wrong@localhost:${port}` });
    await eventually("the password is refused", () =>
      /authentication failed/i.test(wrongPassword.bus.state().detail),
    );
    const wrongAuthority = open({ tlsCa: (await makeCertificate()).certificate });
    await eventually("the certificate is refused", () =>
      /certificate|self.signed/i.test(wrongAuthority.bus.state().detail),
    );
  });
});
