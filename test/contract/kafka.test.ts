import { afterAll, afterEach, describe, expect, test } from "bun:test";
import {
  AclOperations,
  AclPermissionTypes,
  Admin,
  Producer,
  ResourcePatternTypes,
  ResourceTypes,
  stringSerializers,
} from "@platformatic/kafka";
import { BrokerBus } from "../../src/bus/broker-bus.ts";
import type { Bus, BusState } from "../../src/bus/bus.ts";
import { type KafkaOptions, kafkaBroker } from "../../src/bus/kafka/kafka.ts";
import { parseKafkaAddress } from "../../src/bus/kafka/kafka-address.ts";
import { systemClock } from "../../src/clock.ts";
import { freshPrefix, kafkaUnderTest, silentLog } from "../support/buses.ts";
import { makeCertificate } from "../support/certificate.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { startKafka } from "../support/kafka.ts";
import { type BusReader, isTaken, readBus, readyBus } from "../support/log-reader.ts";
import { serviceUrl } from "../support/services.ts";

const kafkaUrl = await serviceUrl("kafka");
const opened: Bus[] = [];

afterEach(() => Promise.all(opened.splice(0).map((bus) => bus.close())));

function start(bus: Bus): BusReader {
  opened.push(bus);
  return readBus(bus);
}

async function startReady(bus: Bus): Promise<BusReader> {
  opened.push(bus);
  return readyBus(bus);
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

describe.if(kafkaUrl !== undefined)("Kafka", () => {
  const url = kafkaUrl ?? "";
  const bootstrapBrokers = [url.slice("kafka://".length)];

  const admin = new Admin({ clientId: "test", bootstrapBrokers });
  afterAll(() => admin.close());

  test("topics are created when missing, with one partition for a log and a short retention", async () => {
    const prefix = freshPrefix();
    const { bus } = await startReady(kafkaUnderTest(url).bus({ prefix, instanceId: "one" }));
    for (const topic of ["client", "events"] as const)
      await eventually(`${topic} is written`, () => isTaken(bus.publish(topic, "user:1", { id: topic })));
    const names = ["broadcast", "control", "events", "client"].map((topic) => `${prefix}.${topic}`);
    const { topics } = await admin.metadata({ topics: [...names] });
    expect(names.map((name) => topics.get(name)?.partitionsCount)).toEqual([1, 1, 1, 6]);
    const [described] = await admin.describeConfigs({
      resources: [
        {
          resourceType: 2,
          resourceName: `${prefix}.broadcast`,
          configurationKeys: [
            "max.message.bytes",
            "message.timestamp.type",
            "retention.ms",
            "unclean.leader.election.enable",
          ],
        },
      ],
    });
    const values = Object.fromEntries((described?.configs ?? []).map(({ name, value }) => [name, value]));
    expect(values).toEqual({
      "max.message.bytes": "8388608",
      "message.timestamp.type": "LogAppendTime",
      "retention.ms": "3600000",
      "unclean.leader.election.enable": "false",
    });
  });

  test("a topic with several partitions is refused with the command that removes it", async () => {
    const prefix = freshPrefix();
    const topic = `${prefix}.broadcast`;
    await admin.createTopics({ topics: [topic], partitions: 6, replicas: 1 });
    const { bus, isReady } = start(kafkaUnderTest(url).bus({ prefix, instanceId: "one" }));
    await eventually("it is refused", () => bus.state().detail.includes("6 partitions"));
    expect(bus.state().detail).toContain(
      `has 6 partitions and must have one: remove it with \`kafka-topics.sh --bootstrap-server ${bootstrapBrokers[0]} --delete --topic ${topic}\`, or set push.queue.prefix to another name`,
    );
    await admin.deleteTopics({ topics: [topic] });
    await eventually("it is ready", isReady);
    await admin.createPartitions({ topics: [{ name: topic, count: 2 }] });
    await eventually("added partitions are refused too", () => bus.state().detail.includes("2 partitions"));
    expect(isReady()).toBe(false);
  });

  test("records that the broker dropped before they were read are a loss before the next", async () => {
    const prefix = freshPrefix();
    const gate = Promise.withResolvers<void>();
    const bus = kafkaUnderTest(url).bus({ prefix, instanceId: "one" });
    opened.push(bus);
    const { events } = await readyBus(bus, () => gate.promise);
    await bus.broadcast.append({ id: "first" });
    await eventually("it is being handled", () => events.includes("first"));
    await bus.broadcast.append({ id: "too old" });
    const partitions = [{ partition: 0, offset: -1n }];
    await admin.deleteRecords({ topics: [{ name: `${prefix}.broadcast`, partitions }] });
    gate.resolve();
    await eventually("it is noticed", () => events.at(-1) === "lost");
    await eventually("it is ready again", () => bus.state().ready);
    await bus.broadcast.append({ id: "last" });
    await eventually("it arrived", () => events.at(-1) === "last");
    expect(events).toEqual(["caught up", "first", "lost", "last"]);
  });

  test("markers of transactions are no records, and the offsets that they use are no loss", async () => {
    const prefix = freshPrefix();
    const { bus, events } = await startReady(kafkaUnderTest(url).bus({ prefix, instanceId: "one" }));
    const producer = new Producer({
      clientId: "test",
      bootstrapBrokers,
      serializers: stringSerializers,
      idempotent: true,
      transactionalId: prefix,
    });
    const transaction = await producer.beginTransaction();
    await transaction.send({
      messages: [{ topic: `${prefix}.broadcast`, key: "", value: JSON.stringify({ id: "inside" }) }],
    });
    await transaction.commit();
    await producer.close();
    await bus.broadcast.append({ id: "after" });
    await eventually("it arrived", () => events.at(-1) === "after");
    expect(events).toEqual(["caught up", "inside", "after"]);
  });
});

describe.if(kafkaUrl !== undefined)("Kafka that refuses", () => {
  const url = kafkaUrl ?? "";
  const admin = new Admin({ clientId: "test", bootstrapBrokers: [url.slice("kafka://".length)] });
  afterAll(() => admin.close());

  async function open(prefix: string) {
    const { bus, events } = await startReady(kafkaUnderTest(url).bus({ prefix, instanceId: "one" }));
    const states: BusState[] = [];
    bus.onStateChange((state) => states.push(state));
    return { bus, events, states };
  }

  test("a message that is too large is refused, and all others arrive in order", async () => {
    const prefix = freshPrefix();
    const configs = [{ name: "max.message.bytes", value: "200000" }];
    await admin.createTopics({ topics: [`${prefix}.broadcast`], partitions: 1, replicas: 1, configs });
    const { bus, events, states } = await open(prefix);
    const text = "x".repeat(50_000);
    const note = (id: string, text: string) => ({ id, text });
    const ids = Array.from({ length: 20 }, (_, number) => `together-${number}`);
    // More than the topic accepts in one batch, with one message that it never accepts.
    const publishing = ids.map((id) => bus.broadcast.append(note(id, text)));
    publishing.splice(5, 0, bus.broadcast.append(note("large", text.repeat(5))));
    const outcomes = await Promise.allSettled(publishing);
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(refused.map(({ reason }) => reason.code)).toEqual(["too_large"]);
    await bus.broadcast.append({ id: "last" });
    await eventually("the last arrived", () => events.at(-1) === "last");
    expect([...new Set(events)]).toEqual(["caught up", ...ids, "last"]);
    expect(states).toEqual([]);
  });

  test("a topic of other services that cannot be written does not stop the instances", async () => {
    const prefix = freshPrefix();
    const { bus, events, states } = await open(prefix);
    const isEventTaken = () => isTaken(bus.publish("events", "user:1", { id: crypto.randomUUID() }));
    await eventually("an event is taken", isEventTaken);
    await admin.deleteTopics({ topics: [`${prefix}.events`] });
    await eventually("an event is refused", async () => !(await isEventTaken()));
    await bus.broadcast.append({ id: "still talking" });
    await eventually("it arrived", () => events.at(-1) === "still talking");
    await eventually("events are taken again", isEventTaken);
    expect(states).toEqual([]);
  });
});

/** What docs/operations.md names, on the topics whose names start with the prefix. */
async function permit(user: string, prefix: string, url: string): Promise<void> {
  const admin = new Admin({ clientId: "operator", bootstrapBrokers: [url.slice("kafka://".length)] });
  const operations = ["CREATE", "DESCRIBE", "READ", "WRITE"] as const;
  await admin.createAcls({
    creations: operations.map((operation) => ({
      resourceType: ResourceTypes.TOPIC,
      resourceName: `${prefix}.`,
      resourcePatternType: ResourcePatternTypes.PREFIXED,
      principal: `User:${user}`,
      host: "*",
      operation: AclOperations[operation],
      permissionType: AclPermissionTypes.ALLOW,
    })),
  });
  await admin.close();
}

describe.if(kafkaUrl !== undefined)("Kafka with TLS and SASL", () => {
  const stops: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const stop of stops) await stop();
  });

  test("the documented permissions are enough, with PLAIN and SCRAM over TLS; a wrong password or authority is reported", async () => {
    const { certificate, key } = await makeCertificate();
    const port = freePort();
    const service = await startKafka({ port, certificate, key, user: "alice", password: "let-me-in" });
    stops.push(() => service.stop());
    const prefix = freshPrefix();
    await permit("alice", prefix, service.url);
    const open = (options: Partial<KafkaOptions>) => {
      const bus = new BrokerBus(
        kafkaBroker({
          url: `kafkas://alice:let-me-in@localhost:${port}`,
          prefix,
          instanceId: "one",
          isDurable: true,
          sasl: "plain",
          random: Math.random,
          tlsCa: certificate,
          ...options,
        }),
        { prefix, log: silentLog, clock: systemClock, random: Math.random },
      );
      return start(bus);
    };
    for (const sasl of ["plain", "scram-sha-256", "scram-sha-512"] as const) {
      const { bus, events } = open({ sasl });
      await eventually(`ready with ${sasl}`, () => bus.state().ready);
      await bus.broadcast.append({ id: sasl });
      await eventually("it arrived", () => events.at(-1) === sasl);
      for (const topic of ["client", "events"] as const)
        await eventually(`${topic} is written`, () => isTaken(bus.publish(topic, "user:1", { id: topic })));
    }
    const stranger = open({ prefix: "another" });
    await eventually("another prefix is refused", () =>
      /another\.broadcast is missing and cannot be created/.test(stranger.bus.state().detail),
    );
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
