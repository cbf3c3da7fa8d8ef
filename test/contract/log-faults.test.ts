import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { Admin } from "@platformatic/kafka";
import type { Connection } from "rabbitmq-client";
import type { Bus } from "../../src/bus/bus.ts";
import {
  type BrokerUnderTest,
  Cut,
  connectTo,
  freshPrefix,
  kafkaUnderTest,
  rabbitmqUnderTest,
} from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { startKafka } from "../support/kafka.ts";
import { type BusReader, isTaken, readyBus } from "../support/log-reader.ts";
import { startRabbitmq } from "../support/rabbitmq.ts";
import type { RunningService } from "../support/service-process.ts";
import { serviceUrl } from "../support/services.ts";

/** A broker that a test may break. */
interface Breakable {
  name: string;
  start(): Promise<RunningService>;
  underTest(url: string): BrokerUnderTest;
  /** Deletes a log and creates it again, as an operator would. */
  createAgain(url: string, name: string): Promise<void>;
  /** Creates a log that keeps little. */
  createShort(url: string, name: string): Promise<void>;
  /** Lets the broker drop the records that are too many, if it does not by itself. */
  trim(url: string, name: string): Promise<void>;
}

async function asOperator(url: string, act: (operator: Connection) => Promise<unknown>): Promise<void> {
  const operator = connectTo(url);
  await act(operator);
  await operator.close();
}

async function asAdmin(url: string, act: (admin: Admin) => Promise<unknown>): Promise<void> {
  const admin = new Admin({ clientId: "operator", bootstrapBrokers: [url.slice("kafka://".length)] });
  await act(admin);
  await admin.close();
}

const brokers: Breakable[] = [
  {
    name: "rabbitmq",
    start: () => startRabbitmq(),
    underTest: rabbitmqUnderTest,
    createAgain: (url, queue) =>
      asOperator(url, async (operator) => {
        await operator.queueDelete(queue);
        await operator.queueDeclare({ queue, durable: true, arguments: { "x-queue-type": "stream" } });
        await operator.queueBind({ queue, exchange: queue });
      }),
    createShort: (url, queue) =>
      asOperator(url, (operator) =>
        operator.queueDeclare({
          queue,
          durable: true,
          arguments: {
            "x-queue-type": "stream",
            "x-max-length-bytes": 2_000_000,
            "x-stream-max-segment-size-bytes": 1_000_000,
          },
        }),
      ),
    trim: async () => {},
  },
  {
    name: "kafka",
    start: () => startKafka(),
    underTest: kafkaUnderTest,
    createAgain: (url, topic) =>
      asAdmin(url, async (admin) => {
        await admin.deleteTopics({ topics: [topic] });
        await eventually("it can be created", () =>
          isTaken(admin.createTopics({ topics: [topic], partitions: 1, replicas: 1 })),
        );
      }),
    createShort: async () => {},
    trim: (url, name) =>
      asAdmin(url, (admin) =>
        admin.deleteRecords({ topics: [{ name, partitions: [{ partition: 0, offset: -1n }] }] }),
      ),
  },
];
const areAvailable = {
  rabbitmq: (await serviceUrl("amqp")) !== undefined,
  kafka: (await serviceUrl("kafka")) !== undefined,
};

for (const { name, start, underTest, createAgain, createShort, trim } of brokers) {
  describe.if(areAvailable[name as keyof typeof areAvailable])(`a log of ${name}`, () => {
    let service: RunningService;
    let broker: BrokerUnderTest;
    const opened: Bus[] = [];

    beforeAll(async () => {
      service = await start();
      broker = underTest(service.url);
    });
    afterEach(() => Promise.all(opened.splice(0).map((bus) => bus.close())));
    afterAll(() => service?.stop());

    function open(prefix: string, instanceId: string, cut?: Cut): Bus {
      const bus = broker.bus({ prefix, instanceId, ...(cut ? { wrap: cut.wrap } : {}) });
      opened.push(bus);
      return bus;
    }

    async function append({ bus }: BusReader, id: string): Promise<void> {
      await bus.broadcast.append({ id });
    }

    test("a broker that is killed and returns: reading continues without loss or repeats", async () => {
      const prefix = freshPrefix();
      const readers = [await readyBus(open(prefix, "one")), await readyBus(open(prefix, "two"))];
      const [one] = readers;
      if (!one) throw new Error("There is no reader.");
      // RabbitMQ 3.10 does not find its streams again if it is killed within a second after the first one was created.
      await Bun.sleep(3_000);
      const confirmed: string[] = [];
      for (let round = 0; round < 2; round++) {
        for (let number = 0; number < 50; number++) {
          await append(one, `${round}-${number}`);
          confirmed.push(`${round}-${number}`);
        }
        await service.kill();
        await eventually("it is noticed", () => readers.every(({ isReady }) => !isReady()));
        const askedAt = performance.now();
        expect(await isTaken(append(one, "refused"))).toBe(false);
        expect(performance.now() - askedAt).toBeLessThan(1_000);
        await service.restart();
        await eventually("both are ready", () => readers.every(({ isReady }) => isReady()));
      }
      await append(one, "last");
      for (const { events } of readers) {
        await eventually("the last arrived", () => events.at(-1) === "last");
        expect(events).toEqual(["caught up", ...confirmed, "last"]);
      }
      expect(readers[1]?.offsets.at(-1)).toBe(one.offsets.at(-1) ?? -1);
    });

    test("a broker that is paused counts as gone, and reading continues after it", async () => {
      const reader = await readyBus(open(freshPrefix(), "one"));
      await append(reader, "before");
      service.pause();
      const startedAt = performance.now();
      expect(await isTaken(append(reader, "unanswered"))).toBe(false);
      expect(performance.now() - startedAt).toBeLessThan(6_000);
      await eventually("it is noticed", () => !reader.isReady());
      service.resume();
      await eventually("it is ready", reader.isReady);
      await append(reader, "after");
      await eventually("it arrived", () => reader.events.at(-1) === "after");
      // What was not answered may have been stored.
      expect(reader.events.filter((event) => event !== "unanswered")).toEqual([
        "caught up",
        "before",
        "after",
      ]);
    });

    test("an instance that was away continues without loss or repeats", async () => {
      const prefix = freshPrefix();
      const sender = await readyBus(open(prefix, "sender"));
      const cut = new Cut();
      const away = await readyBus(open(prefix, "away", cut));
      const expected = ["caught up"];
      for (let round = 0; round < 3; round++) {
        await append(sender, `here-${round}`);
        cut.begin();
        await append(sender, `away-${round}`);
        await eventually("it is noticed", () => !away.isReady());
        cut.end();
        await eventually("it is ready", away.isReady);
        expected.push(`here-${round}`, `away-${round}`);
      }
      await append(sender, "last");
      await eventually("the last arrived", () => away.events.at(-1) === "last");
      expect(away.events).toEqual([...expected, "last"]);
    });

    test("a log that is deleted and created again under its readers is a loss for each", async () => {
      const prefix = freshPrefix();
      const one = await readyBus(open(prefix, "one"));
      const two = await readyBus(open(prefix, "two"));
      for (const id of ["a", "b", "c"]) await append(one, id);
      await eventually("all arrived", () => two.records.length === 3);
      await createAgain(service.url, `${prefix}.broadcast`);
      for (const reader of [one, two])
        await eventually("the loss is reported", () => reader.events.includes("lost"));
      await eventually("both are ready", () => one.isReady() && two.isReady());
      await eventually("a record is stored", () => isTaken(append(one, "after")));
      for (const { events } of [one, two]) {
        await eventually("it arrived", () => events.includes("after"));
        expect(events.slice(0, 4)).toEqual(["caught up", "a", "b", "c"]);
        expect(new Set(events.slice(4, -1))).toEqual(new Set(["lost"]));
        expect(events.at(-1)).toBe("after");
      }
    });

    for (const count of [1, 40])
      test(`a log that is created again with ${count} records while an instance is away is a loss, and is read`, async () => {
        const prefix = freshPrefix();
        const cut = new Cut();
        const reader = await readyBus(open(prefix, "one", cut));
        for (let number = 0; number < 20; number++) await append(reader, `old-${number}`);
        await eventually("all arrived", () => reader.records.length === 20);
        cut.begin();
        await createAgain(service.url, `${prefix}.broadcast`);
        const ids = Array.from({ length: count }, (_, number) => `new-${number}`);
        await eventually("it can be written", () =>
          isTaken(broker.write(prefix, "broadcast", "", [JSON.stringify({ id: ids[0] })])),
        );
        for (const id of ids.slice(1)) await broker.write(prefix, "broadcast", "", [JSON.stringify({ id })]);
        cut.end();
        await eventually("all arrived", () => reader.events.at(-1) === ids.at(-1));
        const old = Array.from({ length: 20 }, (_, number) => `old-${number}`);
        expect(reader.events).toEqual(["caught up", ...old, "lost", ...ids]);
        await eventually("it is ready", reader.isReady);
      });

    test("records that the broker no longer has are a loss before the next record", async () => {
      const prefix = freshPrefix();
      await createShort(service.url, `${prefix}.broadcast`);
      const sender = await readyBus(open(prefix, "sender"));
      const cut = new Cut();
      const reader = await readyBus(open(prefix, "one", cut));
      await append(sender, "before");
      await eventually("it arrived", () => reader.events.includes("before"));
      cut.begin();
      const text = "x".repeat(100_000);
      for (let number = 0; number < 100; number++)
        await broker.write(prefix, "broadcast", "", [JSON.stringify({ id: `while-away-${number}`, text })]);
      await trim(service.url, `${prefix}.broadcast`);
      cut.end();
      await eventually("it is ready", reader.isReady);
      await append(sender, "after");
      await eventually("it arrived", () => reader.events.at(-1) === "after");
      expect(reader.events.slice(0, 3)).toEqual(["caught up", "before", "lost"]);
      expect(reader.records.length).toBeLessThan(100);
    });
  });
}
