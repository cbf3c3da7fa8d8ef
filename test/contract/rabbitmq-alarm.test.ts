import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { BusState } from "../../src/bus/bus.ts";
import {
  type BrokerUnderTest,
  freshPrefix,
  keptLog,
  rabbitmqUnderTest,
  silentLog,
} from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type BusReader, isTaken, readBus } from "../support/log-reader.ts";
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

  function start(
    prefix: string,
    instanceId: string,
    handle?: () => Promise<void>,
    log = silentLog,
  ): BusReader {
    const reader = readBus(broker.bus({ prefix, instanceId, log }), handle);
    stops.push(() => reader.bus.close());
    return reader;
  }

  /** RabbitMQ blocks only connections that publish. */
  async function raiseAlarm(witness = start(freshPrefix(), "witness")): Promise<void> {
    await eventually("the witness is ready", witness.isReady);
    await service.control("set_vm_memory_high_watermark", memoryLimits.alarm);
    await eventually(
      "a record is refused",
      async () => !(await isTaken(witness.bus.control.append({ id: crypto.randomUUID() }))),
    );
  }

  test("reading continues, records are refused at once, and it is ready when the alarm ends", async () => {
    const prefix = freshPrefix();
    const sender = start(prefix, "sender");
    let held = Promise.resolve();
    const one = start(prefix, "one", () => held);
    await eventually("both are ready", () => sender.isReady() && one.isReady());
    const gate = Promise.withResolvers<void>();
    held = gate.promise;
    const ids = Array.from({ length: 1_000 }, (_, number) => `held-${number}`);
    await Promise.all(ids.map((id) => sender.bus.broadcast.append({ id })));
    await raiseAlarm(one);
    const states: BusState[] = [];
    one.bus.onStateChange((state) => states.push(state));
    expect(one.bus.state()).toEqual({
      ready: false,
      isReceiving: true,
      detail: expect.stringContaining("RabbitMQ accepts no messages"),
    });
    await expect(one.bus.control.append({ id: "at once" })).rejects.toThrow("accepts no messages");
    gate.resolve();
    await eventually("all that waited arrived", () => one.records.length === 1_000);
    // Longer than a silent broker is waited for.
    await Bun.sleep(6_000);
    expect(states).toEqual([]);
    await clearAlarm();
    await eventually("it is ready again", one.isReady);
    await one.bus.control.append({ id: "after" });
    expect(states.map(({ ready }) => ready)).toEqual([true]);
    expect(one.events).toEqual(["caught up", ...ids]);
  });

  test("each change is one line with what to do, and refused publishes are one line in ten seconds", async () => {
    const { log, lines } = keptLog();
    const one = start(freshPrefix(), "one", undefined, log);
    await eventually("it is ready", one.isReady);
    lines.splice(0);
    await raiseAlarm(one);
    for (let number = 0; number < 100; number++)
      expect(await isTaken(one.bus.broadcast.append({ id: `refused-${number}` }))).toBe(false);
    await eventually("the refused ones are counted", () => lines.length >= 2, 20_000);
    await clearAlarm();
    await eventually("it is ready again", one.isReady);
    expect(lines).toMatchObject([
      {
        level: 40,
        msg: expect.stringContaining("accepts no messages, and publishes are answered 503"),
        detail: expect.stringMatching(/low on memory; free memory or raise vm_memory_high_watermark/),
      },
      { level: 40, msg: expect.stringContaining("publishes were refused"), lastReason: expect.any(String) },
      { level: 30, msg: "the message queue is ready", outageSeconds: expect.any(Number) },
    ]);
    expect(Number(lines[1]?.refused)).toBeGreaterThan(100);
    expect(Number(lines[2]?.refused)).toBeGreaterThan(100);
  });

  test("a bus that starts meanwhile reads what exists, names the alarm, and is ready when it ends", async () => {
    const prefix = freshPrefix();
    const sender = start(prefix, "sender");
    await eventually("it is ready", sender.isReady);
    const ids = Array.from({ length: 10 }, (_, number) => `before-${number}`);
    for (const id of ids) await sender.bus.broadcast.append({ id });
    await raiseAlarm();
    const { bus, events } = start(prefix, "one");
    await eventually("it receives", () => bus.state().isReceiving === true);
    expect(events).toEqual([...ids, "caught up"]);
    expect(bus.state()).toMatchObject({
      ready: false,
      detail: expect.stringContaining("RabbitMQ accepts no messages"),
    });
    await clearAlarm();
    await eventually("it is ready", () => bus.state().ready);
    await bus.broadcast.append({ id: "after" });
    await eventually("it arrived", () => events.at(-1) === "after");
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
    // Clients are admitted after the starting read, which ends after some seconds of silence.
    await Bun.sleep(6_000);
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
