import { afterEach, describe, expect, test } from "bun:test";
import type { Bus, BusMessage, BusState } from "../../src/bus/bus.ts";
import { localBus } from "../../src/bus/local.ts";
import { Fault } from "../../src/errors.ts";
import {
  type BrokerUnderTest,
  type BusSettings,
  freshPrefix,
  kafkaUnderTest,
  rabbitmqUnderTest,
} from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { serviceUrl } from "../support/services.ts";

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");

interface Note extends BusMessage {
  text?: string;
  key?: string;
  number?: number;
}

const opened: Bus[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((bus) => bus.close()));
});

/** A bus that collects its `broadcast` messages and their batches. */
async function open(
  make: (settings: BusSettings) => Bus,
  settings: BusSettings,
  handle?: (messages: unknown[]) => void | Promise<void>,
) {
  const bus = make(settings);
  const received: Note[] = [];
  const turns: number[] = [];
  const control: unknown[] = [];
  const states: BusState[] = [];
  bus.onStateChange((state) => states.push(state));
  bus.subscribe("broadcast", (messages) => {
    turns.push(messages.length);
    received.push(...(messages as Note[]));
    return handle?.(messages);
  });
  bus.subscribe("control", (messages) => {
    control.push(...messages);
  });
  bus.start();
  opened.push(bus);
  await eventually("the bus is ready", () => bus.state().ready);
  return { bus, received, turns, control, states };
}

function note(text: string, more: Partial<Note> = {}): Note {
  return { id: crypto.randomUUID(), text, ...more };
}

function contract(name: string, make: (settings: BusSettings) => Bus) {
  describe(`the ${name} bus`, () => {
    const one = () => ({ prefix: freshPrefix(), instanceId: "one" });

    test("delivers a message to every subscriber of its topic, including the sender", async () => {
      const { bus, received, control } = await open(make, one());
      await bus.publish("broadcast", "user:1", note("hello"));
      await bus.publish("control", "kick", note("away"));
      await eventually("both arrived", () => received.length === 1 && control.length === 1);
      expect(received[0]?.text).toBe("hello");
      expect(control).toEqual([expect.objectContaining({ text: "away" })]);
    });

    test("keeps the order of each key", async () => {
      const { bus, received } = await open(make, one());
      const keys = ["user:1", "user:2", "channel:x", "all:"];
      const published = Array.from({ length: 2_000 }, (_, number) =>
        note("", { key: keys[number % keys.length] ?? "", number }),
      );
      await Promise.all(published.map((message) => bus.publish("broadcast", message.key ?? "", message)));
      await eventually("all arrived", () => received.length === published.length);
      for (const key of keys) {
        const numbers = received.filter((message) => message.key === key).map(({ number }) => number ?? 0);
        expect(numbers).toEqual(numbers.toSorted((left, right) => left - right));
      }
    });

    test("carries Unicode text and messages of a megabyte", async () => {
      const { bus, received } = await open(make, one());
      const texts = ['ключ 钥匙 🗝 \u0000 "quoted"', "x".repeat(1024 * 1024), "\u0001".repeat(1024 * 1024)];
      for (const text of texts) await bus.publish("broadcast", "user:1", note(text));
      await eventually("all arrived", () => received.length === texts.length);
      expect(received.map(({ text }) => text)).toEqual(texts);
    });

    test("continues when a handler throws", async () => {
      let hasThrown = false;
      const { bus, received } = await open(make, one(), () => {
        if (hasThrown) return;
        hasThrown = true;
        throw new Error("on purpose");
      });
      // Without a broker the publisher gets the error.
      await Promise.try(() => bus.publish("broadcast", "user:1", note("first"))).catch(() => {});
      await eventually("the first arrived", () => received.length === 1);
      await bus.publish("broadcast", "user:1", note("second"));
      await eventually("the second arrived", () => received.length === 2);
    });

    test("confirms messages to other services", async () => {
      const { bus } = await open(make, one());
      await confirmsForOthers(bus);
    });

    test("finishes the publishes in flight before it closes", async () => {
      const { bus } = await open(make, one());
      const inFlight = Array.from({ length: 200 }, () => bus.publish("broadcast", "user:1", note("last")));
      await bus.close();
      expect(await Promise.allSettled(inFlight)).toEqual(
        inFlight.map(() => ({ status: "fulfilled", value: undefined })),
      );
    });
  });
}

/** Repeated, because a broker may still be creating the topic. */
async function confirmsForOthers(bus: Bus): Promise<void> {
  for (const topic of ["client", "events"] as const)
    await eventually(`a message of ${topic} is confirmed`, () =>
      bus.publish(topic, "user:1", note(topic)).then(
        () => true,
        () => false,
      ),
    );
}

async function expectUnavailable(publishing: Promise<void>): Promise<void> {
  const error = await publishing.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(Fault);
  expect((error as Fault).code).toBe("unavailable");
}

function brokerContract(broker: BrokerUnderTest) {
  contract(broker.name, broker.bus);

  describe(`the ${broker.name} bus between instances`, () => {
    test("delivers messages that arrived together in one batch", async () => {
      const gate = Promise.withResolvers<void>();
      const settings = { prefix: freshPrefix(), instanceId: "one" };
      // The first batch is held, so that the others arrive together.
      const { bus, received, turns } = await open(broker.bus, settings, () => gate.promise);
      await Promise.all(
        Array.from({ length: 1_000 }, () => bus.publish("broadcast", "user:1", note("together"))),
      );
      gate.resolve();
      await eventually("all arrived", () => received.length === 1_000);
      expect(turns.length).toBeLessThan(100);
    });

    test("is ready from consuming until closed, and refuses a publish outside of that", async () => {
      const settings = { prefix: freshPrefix(), instanceId: "one" };
      const early = broker.bus(settings);
      early.subscribe("broadcast", () => {});
      await expectUnavailable(early.publish("broadcast", "user:1", note("too early")));
      await early.close();
      const { bus, states } = await open(broker.bus, settings);
      expect(states.at(-1)?.ready).toBe(true);
      await bus.close();
      expect(bus.state().ready).toBe(false);
      await expectUnavailable(bus.publish("broadcast", "user:1", note("too late")));
    });

    test("reaches every instance", async () => {
      const prefix = freshPrefix();
      const instances = await Promise.all(
        ["one", "two", "three"].map((instanceId) => open(broker.bus, { prefix, instanceId })),
      );
      const published = Array.from({ length: 300 }, (_, number) => note(`from ${number % 3}`, { number }));
      await Promise.all(
        published.map((message, number) =>
          instances[number % 3]?.bus.publish("broadcast", `user:${number}`, message),
        ),
      );
      for (const { received } of instances) {
        await eventually("all arrived", () => received.length === published.length);
        expect(new Set(received.map(({ id }) => id)).size).toBe(published.length);
      }
    });

    test("delivers messages of other services, and invalid JSON as text", async () => {
      const settings = { prefix: freshPrefix(), instanceId: "one" };
      const { received } = await open(broker.bus, settings);
      const bare = { targetType: "user", target: "7", data: "bare" };
      await broker.write(settings.prefix, "broadcast", "user:7", [JSON.stringify(bare), "not JSON", "42"]);
      await eventually("all arrived", () => received.length === 3);
      // In Kafka the offset identifies every record; in RabbitMQ only messages with a message_id have an id.
      const named = broker.name === "kafka" ? { ...bare, id: expect.any(String) } : bare;
      expect(received as unknown[]).toEqual([named, "not JSON", 42]);
    });

    test("drops duplicates by their id", async () => {
      const settings = { prefix: freshPrefix(), instanceId: "one" };
      const { bus, received } = await open(broker.bus, settings);
      const twice = note("twice");
      await bus.publish("broadcast", "user:1", twice);
      await bus.publish("broadcast", "user:1", twice);
      await bus.publish("broadcast", "user:1", note("after"));
      await eventually("the last arrived", () => received.at(-1)?.text === "after");
      expect(received.map(({ text }) => text)).toEqual(["twice", "after"]);
    });

    test("works in its transient form", async () => {
      const settings = { prefix: freshPrefix(), instanceId: "one", isDurable: false };
      const { bus, received } = await open(broker.bus, settings);
      await bus.publish("broadcast", "user:1", note("light"));
      await eventually("it arrived", () => received.length === 1);
      await confirmsForOthers(bus);
    });

    test("starts at the end: earlier messages are not delivered", async () => {
      const prefix = freshPrefix();
      const { bus } = await open(broker.bus, { prefix, instanceId: "one" });
      await bus.publish("broadcast", "user:1", note("before"));
      const late = await open(broker.bus, { prefix, instanceId: "late" });
      await bus.publish("broadcast", "user:1", note("after"));
      await eventually("the later one arrived", () => late.received.length === 1);
      expect(late.received[0]?.text).toBe("after");
    });
  });
}

contract("local", localBus);
if (amqpUrl) brokerContract(rabbitmqUnderTest(amqpUrl));
if (kafkaUrl) brokerContract(kafkaUnderTest(kafkaUrl));
