import { afterAll, afterEach, describe, expect, test } from "bun:test";
import type { Bus } from "../../src/bus/bus.ts";
import { Fault } from "../../src/errors.ts";
import {
  type BrokerUnderTest,
  type BusUnderTest,
  freshPrefix,
  kafkaUnderTest,
  localUnderTest,
  rabbitmqUnderTest,
  workersUnderTest,
} from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { isTaken, readBus, readyBus } from "../support/log-reader.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");
const folder = temporaryFolder("log");
const workers = workersUnderTest(folder);
const opened: Bus[] = [];

afterEach(() => Promise.all(opened.splice(0).map((bus) => bus.close())));

afterAll(() => workers.stop());

async function open(
  { bus }: BusUnderTest,
  prefix = freshPrefix(),
  instanceId = "one",
  isDurable = true,
): Promise<Bus> {
  const made = await bus({ prefix, instanceId, isDurable });
  opened.push(made);
  return made;
}

const ids = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, number) => `${prefix}-${number}`);

async function appendAll(bus: Bus, names: string[]): Promise<void> {
  await Promise.all(names.map((id) => bus.broadcast.append({ id })));
}

function everyLog(implementation: BusUnderTest) {
  describe(`a log of the ${implementation.name} bus`, () => {
    test("passes on records in the order of the calls, with rising offsets", async () => {
      const { bus, events, offsets, control } = await readyBus(await open(implementation));
      await appendAll(bus, ids("m", 2_000));
      await bus.control.append({ id: "away" });
      await eventually("all arrived", () => events.length === 2_001 && control.length === 2);
      expect(events).toEqual(["caught up", ...ids("m", 2_000)]);
      expect(control).toEqual(["caught up", "away"]);
      expect(offsets).toEqual([...new Set(offsets)].toSorted((left, right) => left - right));
      expect(bus.broadcast.figures()).toMatchObject({ offset: offsets.at(-1), lagRecords: 0 });
    });

    test("carries Unicode text and records of a megabyte", async () => {
      const { bus, records } = await readyBus(await open(implementation));
      const texts = ['ключ 钥匙 🗝 \u0000 "quoted"', "x".repeat(1024 * 1024), "\u0001".repeat(1024 * 1024)];
      for (const text of texts) {
        const value = { id: crypto.randomUUID(), text };
        await bus.broadcast.append(value);
      }
      await eventually("all arrived", () => records.length === texts.length);
      expect(records.map(({ value }) => (value as { text: string }).text)).toEqual(texts);
    });

    test("passes on one batch at a time, and those together that arrived together", async () => {
      let handling = 0;
      const batches: number[] = [];
      const { bus, records } = await readyBus(await open(implementation), async (batch) => {
        handling += 1;
        batches.push(handling);
        // The first record takes longer, so that the others arrive meanwhile.
        await Bun.sleep(batch.length > 1 ? 1 : 50);
        handling -= 1;
      });
      const first = bus.broadcast.append({ id: "first" });
      await eventually("it is being handled", () => records.length === 1);
      const rest = appendAll(bus, ids("m", 1_000));
      await Promise.all([first, rest]);
      await eventually("all arrived", () => records.length === 1_001);
      expect(new Set(batches)).toEqual(new Set([1]));
      expect(batches.length).toBeLessThan(200);
    });

    test("a batch whose handling fails is a loss, and reading continues", async () => {
      let hasFailed = false;
      const { bus, events } = await readyBus(await open(implementation), () => {
        if (hasFailed) return;
        hasFailed = true;
        throw new Error("on purpose");
      });
      // One process alone answers the publisher with the error.
      await bus.broadcast.append({ id: "first" }).catch(() => {});
      await eventually("the first arrived", () => events.includes("first"));
      await bus.broadcast.append({ id: "second" });
      await eventually("the second arrived", () => events.includes("second"));
      if (bus.name !== "local") expect(events).toEqual(["caught up", "first", "lost", "second"]);
    });

    test("confirms messages for other services, and finishes what is in flight before it closes", async () => {
      const { bus } = await readyBus(await open(implementation));
      for (const topic of ["client", "events"] as const)
        await eventually(`a message of ${topic} is confirmed`, () =>
          isTaken(bus.publish(topic, "user:1", { id: topic })),
        );
      const inFlight = ids("last", 200).map((id) => bus.broadcast.append({ id }));
      await bus.close();
      const outcomes = await Promise.allSettled(inFlight);
      expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([]);
    });
  });
}

async function expectUnavailable(sending: Promise<unknown>): Promise<void> {
  const error = await sending.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(Fault);
  expect((error as Fault).code).toBe("unavailable");
}

function sharedLog(broker: BusUnderTest) {
  describe(`a log that processes share over ${broker.name}`, () => {
    test("three readers get the same records at the same offsets", async () => {
      const prefix = freshPrefix();
      const readers = await Promise.all(
        ["one", "two", "three"].map(async (instanceId) => readyBus(await open(broker, prefix, instanceId))),
      );
      await Promise.all(readers.map(({ bus }, number) => appendAll(bus, ids(`of-${number}`, 300))));
      for (const { records } of readers) await eventually("all arrived", () => records.length === 900);
      const [one, two, three] = readers.map(({ records }) => records.map(({ offset, id }) => [offset, id]));
      expect(two).toEqual(one);
      expect(three).toEqual(one);
      for (const { events } of readers) expect(events).not.toContain("lost");
    });

    test("a reader that starts later has all earlier records of the window before it has caught up", async () => {
      const prefix = freshPrefix();
      const early = await readyBus(await open(broker, prefix, "early"));
      for (let part = 0; part < 5; part++) await appendAll(early.bus, ids(`before-${part}`, 1_000));
      const late = readBus(await open(broker, prefix, "late"));
      let caughtUpAt = -1;
      late.bus.onStateChange(({ ready }) => {
        if (ready && caughtUpAt < 0) caughtUpAt = late.events.indexOf("caught up");
      });
      await eventually("it is ready", late.isReady);
      expect(caughtUpAt).toBe(5_000);
      expect(late.records.every(({ ageMs }) => ageMs >= 0 && ageMs < 60_000)).toBe(true);
      await early.bus.broadcast.append({ id: "after" });
      for (const { events } of [early, late]) await eventually("it arrived", () => events.at(-1) === "after");
      expect(late.records).toHaveLength(5_001);
      expect(late.records.map(({ offset }) => offset)).toEqual(early.records.map(({ offset }) => offset));
      expect(late.bus.broadcast.figures().startingReadSeconds).toBeGreaterThan(0);
    });
  });
}

function brokerLog(broker: BrokerUnderTest) {
  describe(`a log of ${broker.name}`, () => {
    test("a reader whose window has no record gets what follows", async () => {
      const prefix = freshPrefix();
      const early = await readyBus(await open(broker, prefix, "early"));
      await early.bus.broadcast.append({ id: "before" });
      await early.bus.close();
      // Longer than the window of the next reader.
      await Bun.sleep(2_500);
      const late = await readyBus(await open(broker, prefix, "late"), undefined, 1_000);
      await late.bus.broadcast.append({ id: "after" });
      await eventually("it arrived", () => late.events.at(-1) === "after");
      expect(late.events.filter((event) => event !== "before")).toEqual(["caught up", "after"]);
    });

    test("records of other services have the same id for every reader, and invalid JSON is text", async () => {
      const prefix = freshPrefix();
      const one = await readyBus(await open(broker, prefix, "one"));
      const two = await readyBus(await open(broker, prefix, "two"));
      const bare = { targetType: "user", target: "7", data: "bare" };
      const texts = [JSON.stringify(bare), JSON.stringify(bare), "not JSON", "42", '{"id":7}'];
      for (const text of texts) await broker.write(prefix, "broadcast", "user:7", [text]);
      const late = await readyBus(await open(broker, prefix, "late"));
      for (const { records } of [one, two, late]) {
        await eventually("all arrived", () => records.length === texts.length);
        expect(records.map(({ value }) => value)).toEqual([bare, bare, "not JSON", 42, { id: 7 }]);
        expect(records.map(({ id }) => id)).toEqual(one.records.map(({ id }) => id));
      }
      const [first, second, , , named] = one.records;
      expect(first?.id).toMatch(/^\d+\.[0-9a-f]{16}$/);
      expect(second?.id).not.toBe(first?.id);
      expect(named?.id).toBe("7");
    });

    test("records are refused at once before the start and after the end", async () => {
      const bus = await open(broker);
      await expectUnavailable(bus.broadcast.append({ id: "too early" }));
      await readyBus(bus);
      await bus.close();
      expect(bus.state().ready).toBe(false);
      await expectUnavailable(bus.broadcast.append({ id: "too late" }));
    });

    test("works in its transient form", async () => {
      const { bus, events } = await readyBus(await open(broker, freshPrefix(), "one", false));
      await bus.broadcast.append({ id: "light" });
      await eventually("it arrived", () => events.at(-1) === "light");
    });

    test("a bus that reads no log is ready, and creates none", async () => {
      const prefix = freshPrefix();
      const bus = await open(broker, prefix);
      bus.start();
      await eventually("it is ready", () => bus.state().ready);
      await eventually("a message is confirmed", () => isTaken(bus.publish("client", "user:1", { id: "1" })));
      if (broker.name === "rabbitmq")
        await expect(broker.write(prefix, "broadcast", "", ["nowhere"])).rejects.toThrow("NOT_FOUND");
    });
  });
}

const brokers = [amqpUrl && rabbitmqUnderTest(amqpUrl), kafkaUrl && kafkaUnderTest(kafkaUrl)];
const found = brokers.filter((broker) => typeof broker === "object");
for (const implementation of [localUnderTest, workers, ...found]) everyLog(implementation);
for (const implementation of [workers, ...found]) sharedLog(implementation);
for (const broker of found) brokerLog(broker);
