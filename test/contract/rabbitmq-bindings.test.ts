import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Connection } from "rabbitmq-client";
import type { Bus, BusState } from "../../src/bus/bus.ts";
import { type BrokerUnderTest, connectTo, freshPrefix, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type BusReader, isTaken, readBus, readyBus } from "../support/log-reader.ts";
import { type RunningRabbitmq, startRabbitmq } from "../support/rabbitmq.ts";
import { serviceUrl } from "../support/services.ts";

const isAvailable = (await serviceUrl("amqp")) !== undefined;

describe.if(isAvailable)("RabbitMQ, changed by an operator", () => {
  let service: RunningRabbitmq;
  let broker: BrokerUnderTest;
  let operator: Connection;
  const opened: Bus[] = [];

  beforeAll(async () => {
    service = await startRabbitmq();
    broker = rabbitmqUnderTest(service.url);
    operator = connectTo(service.url);
  });
  afterEach(() => Promise.all(opened.splice(0).map((bus) => bus.close())));
  afterAll(async () => {
    operator?.unsafeDestroy();
    await service?.stop();
  });

  async function start(prefix: string, instanceId: string, handle?: () => Promise<void>): Promise<BusReader> {
    const bus = broker.bus({ prefix, instanceId });
    opened.push(bus);
    return readyBus(bus, handle);
  }

  test("an exchange is deleted: records are stored again, and the loss is reported", async () => {
    const prefix = freshPrefix();
    const one = await start(prefix, "one");
    const two = await start(prefix, "two");
    await operator.exchangeDelete({ exchange: `${prefix}.broadcast` });
    expect(await isTaken(one.bus.broadcast.append({ id: "refused" }))).toBe(false);
    await eventually("both are ready", () => one.isReady() && two.isReady());
    await eventually("a record is stored", () => isTaken(one.bus.broadcast.append({ id: "after" })));
    await eventually("it arrived", () => two.events.at(-1) === "after");
    await eventually("it arrived", () => one.events.at(-1) === "after");
    expect(new Set(one.events)).toEqual(new Set(["caught up", "lost", "after"]));
  });

  test("a stream is unbound: no record is confirmed that is not stored", async () => {
    const prefix = freshPrefix();
    const { bus, events, isReady } = await start(prefix, "one");
    await operator.queueUnbind({ queue: `${prefix}.broadcast`, exchange: `${prefix}.broadcast` });
    expect(await isTaken(bus.broadcast.append({ id: "refused" }))).toBe(false);
    await eventually("it has reported a loss", () => events.includes("lost"));
    await eventually("it is ready", isReady);
    await bus.broadcast.append({ id: "after" });
    await eventually("it arrived", () => events.at(-1) === "after");
    expect(events).toEqual(["caught up", "lost", "after"]);
  });

  test("a stream is unbound, and another queue is bound: a missing marker shows it", async () => {
    const prefix = freshPrefix();
    const { bus, events, isReady } = await start(prefix, "one");
    const queue = `${prefix}.foreign`;
    await operator.queueDeclare({ queue, exclusive: true });
    await operator.queueBind({ queue, exchange: `${prefix}.broadcast` });
    await operator.queueUnbind({ queue: `${prefix}.broadcast`, exchange: `${prefix}.broadcast` });
    await eventually("it has reported a loss", () => events.includes("lost"));
    await eventually("it is ready", isReady);
    await bus.broadcast.append({ id: "after" });
    await eventually("it arrived", () => events.at(-1) === "after");
    expect(events).toEqual(["caught up", "lost", "after"]);
  });

  test("an instance that handles slowly is not taken for deaf", async () => {
    const prefix = freshPrefix();
    const { bus } = await start(prefix, "fast");
    const gate = Promise.withResolvers<void>();
    const slow = await start(prefix, "slow", () => gate.promise);
    const states: string[] = [];
    slow.bus.onStateChange(({ detail }) => states.push(detail));
    const ids = Array.from({ length: 1_000 }, () => crypto.randomUUID());
    await Promise.all(ids.map((id) => bus.broadcast.append({ id })));
    // Longer than a heartbeat of RabbitMQ.
    await Bun.sleep(12_000);
    gate.resolve();
    await eventually("all arrived", () => slow.records.length === 1_000);
    expect(states).toEqual([]);
    expect(slow.events).toEqual(["caught up", ...ids]);
  });

  test("a full queue of another service that refuses messages is named by an instance that starts", async () => {
    const prefix = freshPrefix();
    await start(prefix, "one");
    const queue = `${prefix}.foreign`;
    await operator.queueDeclare({
      queue,
      arguments: { "x-max-length": 1, "x-overflow": "reject-publish" },
    });
    await operator.queueBind({ queue, exchange: `${prefix}.broadcast` });
    const bus = broker.bus({ prefix, instanceId: "two" });
    opened.push(bus);
    await eventually("the queue is full", async () => {
      const { messageCount } = await operator.queueDeclare({ queue, passive: true });
      return messageCount > 0;
    });
    readBus(bus);
    await eventually("it is named", () =>
      bus.state().detail.includes(`a queue bound to ${prefix}.broadcast`),
    );
    await eventually("it receives", () => bus.state().isReceiving === true);
    expect(bus.state().ready).toBe(false);
    await operator.queueDelete(queue);
    await eventually("it is ready", () => bus.state().ready);
  });

  test("an instance without the permission to publish is not ready until it has the permission", async () => {
    const { bus } = await start(freshPrefix(), "one");
    const states: BusState[] = [];
    bus.onStateChange((state) => states.push(state));
    await service.control("set_permissions", "guest", ".*", "^(?!.*broadcast$)", ".*");
    // RabbitMQ remembers the permissions of a busy channel for as long as it likes.
    await service.control("close_all_connections", "the permissions have changed");
    const isRefused = ({ detail }: BusState) => detail.includes("ACCESS_REFUSED");
    await eventually("it has tried several times", () => states.filter(isRefused).length >= 3);
    expect(states.some(({ ready }) => ready)).toBe(false);
    await service.control("set_permissions", "guest", ".*", ".*", ".*");
    await eventually("it is ready", () => bus.state().ready);
    await bus.broadcast.append({ id: "accepted" });
  });
});
