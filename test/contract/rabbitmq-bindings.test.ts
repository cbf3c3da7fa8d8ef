import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Connection } from "rabbitmq-client";
import type { Bus } from "../../src/bus/bus.ts";
import { type BrokerUnderTest, connectTo, freshPrefix, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
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
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((bus) => bus.close()));
  });
  afterAll(async () => {
    operator?.unsafeDestroy();
    await service?.stop();
  });

  async function start(prefix: string, instanceId: string) {
    const bus = broker.bus({ prefix, instanceId });
    const received: unknown[] = [];
    const topics = ["broadcast", "control"] as const;
    for (const topic of topics)
      bus.subscribe(
        topic,
        (messages) => void received.push(...messages.map((message) => (message as { id: string }).id)),
        () => received.push(`${topic} lost`),
      );
    bus.start();
    opened.push(bus);
    await eventually(`${instanceId} is ready`, () => bus.state().ready);
    received.splice(0);
    return { bus, received };
  }

  const others = { broadcast: "control", control: "broadcast" };
  for (const topic of ["broadcast", "control"] as const) {
    test(`the exchange ${topic} is deleted: all instances receive again, and have reported a loss`, async () => {
      const prefix = freshPrefix();
      const one = await start(prefix, "one");
      const two = await start(prefix, "two");
      await operator.exchangeDelete({ exchange: `${prefix}.${topic}` });
      // Ends the session of the first instance, which declares the exchange again and binds its own queue only.
      await one.bus.publish(topic, "", { id: "lost" }).catch(() => {});
      await eventually("the second has reported a loss", () => two.received.includes(`${topic} lost`));
      await eventually("both are ready", () => one.bus.state().ready && two.bus.state().ready);
      await one.bus.publish(topic, "", { id: "after" });
      await eventually("it arrived", () => two.received.includes("after"));
      // The probe of the other topic may have met the missing exchange too.
      expect(two.received.filter((each) => each !== `${others[topic]} lost`)).toEqual([
        `${topic} lost`,
        "after",
      ]);
      expect(one.received).toContain(`${topic} lost`);
    });
  }

  test("a queue is unbound: the instance receives again, and has reported a loss", async () => {
    const prefix = freshPrefix();
    const { bus, received } = await start(prefix, "one");
    await operator.queueUnbind({ queue: `${prefix}.broadcast.one`, exchange: `${prefix}.broadcast` });
    await bus.publish("broadcast", "", { id: "lost" });
    await eventually("it has reported a loss", () => received.length > 0);
    await eventually("it is ready", () => bus.state().ready);
    await bus.publish("broadcast", "", { id: "after" });
    await eventually("it arrived", () => received.includes("after"));
    expect(received).toEqual(["broadcast lost", "after"]);
  });

  test("an instance that handles slowly is not taken for unbound", async () => {
    const prefix = freshPrefix();
    const { bus } = await start(prefix, "fast");
    const slow = broker.bus({ prefix, instanceId: "slow" });
    const gate = Promise.withResolvers<void>();
    slow.subscribe("broadcast", () => gate.promise);
    const states: string[] = [];
    slow.start();
    opened.push(slow);
    await eventually("it is ready", () => slow.state().ready);
    slow.onStateChange(({ detail }) => states.push(detail));
    const ids = Array.from({ length: 1_000 }, () => crypto.randomUUID());
    await Promise.all(ids.map((id) => bus.publish("broadcast", "", { id })));
    await Bun.sleep(10_000);
    gate.resolve();
    expect(states).toEqual([]);
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
    bus.subscribe("broadcast", () => {});
    opened.push(bus);
    await eventually("the queue is full", async () => {
      const { messageCount } = await operator.queueDeclare({ queue, passive: true });
      return messageCount > 0;
    });
    bus.start();
    await eventually("it is named", () =>
      bus.state().detail.includes(`a queue bound to ${prefix}.broadcast`),
    );
    expect(bus.state()).toMatchObject({ ready: false, isReceiving: true });
    await operator.queueDelete(queue);
    await eventually("it is ready", () => bus.state().ready);
  });

  test("an instance without the permission to publish is not ready until it has the permission", async () => {
    const { bus } = await start(freshPrefix(), "one");
    const states: boolean[] = [];
    bus.onStateChange(({ ready }) => states.push(ready));
    await service.control("set_permissions", "guest", ".*", "^(?!.*broadcast$)", ".*");
    let refusal = "";
    await eventually("a publish is refused", async () => {
      // RabbitMQ checks the permission of a channel again after the channel was idle for a second.
      await Bun.sleep(2_000);
      await bus.publish("broadcast", "", { id: crypto.randomUUID() }).catch((fault) => {
        refusal = fault.message;
      });
      return refusal.includes("access to exchange");
    });
    await eventually("it has tried again", () => states.length >= 4 || states.includes(true));
    expect(states).not.toContain(true);
    await service.control("set_permissions", "guest", ".*", ".*", ".*");
    await eventually("it is ready", () => bus.state().ready);
    await bus.publish("broadcast", "", { id: "accepted" });
  });
});
