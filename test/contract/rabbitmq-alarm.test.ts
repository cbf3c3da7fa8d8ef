import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type BrokerUnderTest, freshPrefix, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { memoryLimits, type RunningRabbitmq, startRabbitmq } from "../support/rabbitmq.ts";
import { serviceUrl } from "../support/services.ts";

const isAvailable = (await serviceUrl("amqp")) !== undefined;

describe.if(isAvailable)("RabbitMQ with an alarm", () => {
  let service: RunningRabbitmq;
  let broker: BrokerUnderTest;
  const stops: (() => void | Promise<void>)[] = [];

  beforeAll(async () => {
    service = await startRabbitmq();
    broker = rabbitmqUnderTest(service.url);
  });
  afterEach(async () => {
    await clearAlarm();
    for (const stop of stops.splice(0).reverse()) await stop();
  });
  afterAll(() => service?.stop());

  const clearAlarm = () => service.control("set_vm_memory_high_watermark", memoryLimits.ease);

  async function start(prefix: string, instanceId: string) {
    const bus = broker.bus({ prefix, instanceId });
    const received: string[] = [];
    bus.subscribe("broadcast", (messages) => {
      received.push(...messages.map((message) => (message as { id: string }).id));
    });
    bus.start();
    stops.push(() => bus.close());
    return { bus, received };
  }

  async function raiseAlarm() {
    const { bus } = await start(freshPrefix(), "witness");
    await eventually("the witness is ready", () => bus.state().ready);
    await service.control("set_vm_memory_high_watermark", memoryLimits.alarm);
    await eventually("a publish is refused", () =>
      bus.publish("broadcast", "", { id: crypto.randomUUID() }).then(
        () => false,
        () => true,
      ),
    );
  }

  test("a bus that starts meanwhile receives, names the alarm, and is ready when it ends", async () => {
    const prefix = freshPrefix();
    const before = await start(prefix, "one");
    const sender = await start(prefix, "sender");
    await eventually("both are ready", () => before.bus.state().ready && sender.bus.state().ready);
    await before.bus.close();
    const ids = Array.from({ length: 10 }, (_, number) => `while-away-${number}`);
    for (const id of ids) await sender.bus.publish("broadcast", "", { id });
    await raiseAlarm();
    const { bus, received } = await start(prefix, "one");
    await eventually("it receives", () => bus.state().isReceiving === true);
    expect(received).toEqual(ids);
    expect(bus.state()).toMatchObject({
      ready: false,
      detail: expect.stringContaining("RabbitMQ accepts no messages"),
    });
    await clearAlarm();
    await eventually("it is ready", () => bus.state().ready);
    await bus.publish("broadcast", "", { id: "after" });
    await eventually("it arrived", () => received.at(-1) === "after");
  });

  test("an instance that starts meanwhile admits clients and names the alarm", async () => {
    await raiseAlarm();
    const app = await startPushApp({
      "push.cluster-enabled": true,
      "push.queue.url": service.url,
      "push.queue.prefix": freshPrefix(),
      "push.queue.instance-id": "one",
    });
    stops.push(() => app.stop());
    await eventually("it names the alarm", async () =>
      (await (await app.get("/readyz")).text()).startsWith("queue: RabbitMQ accepts no messages"),
    );
    const client = await PushClient.open(`${app.wsUrl}?code=anna`, ["slipway.v1"]);
    stops.push(() => client.close());
    await client.receivedType("welcome");
    await clearAlarm();
    await eventually("it is ready", async () => (await app.get("/readyz")).status === 200);
    const answer = await app.publish({ targetType: "user", target: "anna", data: "after" });
    expect(answer.status).toBe(200);
    await eventually("it arrived", () => client.messages.includes("after"));
  });
});
