import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { Admin } from "@platformatic/kafka";
import { type BrokerUnderTest, connectTo, freshPrefix, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { startRabbitmq } from "../support/rabbitmq.ts";
import type { RunningService } from "../support/service-process.ts";
import { serviceUrl } from "../support/services.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");

const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function isReady(app: PushApp): Promise<boolean> {
  return (await app.get("/readyz")).status === 200;
}

async function startInstance(prefix: string, url: string, instanceId: string, durability = "durable") {
  const app = await startPushApp({
    "push.cluster-enabled": true,
    "push.queue.url": url,
    "push.queue.prefix": prefix,
    "push.queue.instance-id": instanceId,
    "push.queue.durability": durability as "durable" | "transient",
  });
  stops.push(() => app.stop());
  await eventually(`${instanceId} is ready`, () => isReady(app));
  return app;
}

/** An instance whose connection to RabbitMQ can be cut. */
async function startBehindProxy(prefix: string, brokerUrl: string, durability?: string) {
  const proxy = startTcpProxy({ hostname: "127.0.0.1", port: Number(new URL(brokerUrl).port) });
  stops.push(() => proxy.stop());
  const url = new URL(brokerUrl);
  url.hostname = "127.0.0.1";
  url.port = String(proxy.port);
  const app = await startInstance(prefix, url.href, "one", durability);
  return {
    app,
    async cut() {
      proxy.cut();
      await eventually("it has noticed", async () => !(await isReady(app)));
    },
    async restore() {
      proxy.restore();
      await eventually("it is ready again", () => isReady(app));
    },
  };
}

async function connect(app: PushApp, query = ""): Promise<PushClient> {
  const client = await PushClient.open(`${app.wsUrl}?code=anna${query}`, ["slipway.v1"]);
  stops.push(() => client.close());
  return client;
}

async function resume(app: PushApp, lastId: string): Promise<{ client: PushClient; recovered: unknown }> {
  const client = await connect(app, `&resume=${encodeURIComponent(lastId)}`);
  const [welcome] = await client.receivedType("welcome");
  return { client, recovered: welcome?.recovered };
}

const toAnna = (data: string) => ({ targetType: "user", target: "anna", data });

/** The last id of a client that received a message and left; a resume from it is complete. */
async function leaveWithAll(app: PushApp): Promise<string> {
  let lastId = "";
  // An instance that has just begun to consume cannot know about earlier messages.
  await eventually("a resume is complete", async () => {
    const client = await connect(app);
    expect((await app.publish(toAnna("seen"))).status).toBe(200);
    const [message] = await client.receivedType("message");
    client.close();
    await client.ended();
    lastId = String(message?.id);
    return (await resume(app, lastId)).recovered === true;
  });
  return lastId;
}

describe.if(amqpUrl !== undefined)("after an instance was cut off from RabbitMQ, `recovered` is", () => {
  const url = amqpUrl ?? "";

  test("true if its queue kept everything; false until it is back", async () => {
    const prefix = freshPrefix();
    const { app, cut, restore } = await startBehindProxy(prefix, url);
    const two = await startInstance(prefix, url, "two");
    const lastId = await leaveWithAll(app);
    await cut();
    expect((await two.publish(toAnna("missed"))).status).toBe(200);
    expect((await resume(app, lastId)).recovered).toBe(false);
    await restore();
    const { client, recovered } = await resume(app, lastId);
    expect(recovered).toBe(true);
    await eventually("what was missed arrives", () => client.messages.includes("missed"));
  });

  test("true elsewhere: publishes that it refused meanwhile are not missing", async () => {
    const prefix = freshPrefix();
    const { app, cut, restore } = await startBehindProxy(prefix, url);
    const two = await startInstance(prefix, url, "two");
    const lastId = await leaveWithAll(two);
    const listener = await connect(two);
    expect((await app.publish(toAnna("before"))).status).toBe(200);
    await cut();
    for (const text of ["refused", "refused too"]) expect((await app.publish(toAnna(text))).status).toBe(503);
    await restore();
    expect((await app.publish(toAnna("after"))).status).toBe(200);
    await eventually("the last one arrived", () => listener.messages.includes("after"));
    expect((await resume(two, lastId)).recovered).toBe(true);
  });

  test("false where its queue ended with the connection", async () => {
    const prefix = freshPrefix();
    const { app, cut, restore } = await startBehindProxy(prefix, url, "transient");
    const two = await startInstance(prefix, url, "two", "transient");
    const lastId = await leaveWithAll(app);
    await cut();
    expect((await two.publish(toAnna("missed"))).status).toBe(200);
    await restore();
    expect((await resume(app, lastId)).recovered).toBe(false);
    await leaveWithAll(app);
  });

  test("false where its queue was deleted or has expired meanwhile", async () => {
    const prefix = freshPrefix();
    const { app, cut, restore } = await startBehindProxy(prefix, url);
    const two = await startInstance(prefix, url, "two");
    const lastId = await leaveWithAll(app);
    await cut();
    const bare = connectTo(url);
    stops.push(() => bare.unsafeDestroy());
    await eventually("RabbitMQ has noticed", async () => {
      const queue = await bare.queueDeclare({ queue: `${prefix}.broadcast.one`, passive: true });
      return queue.consumerCount === 0;
    });
    await bare.queueDelete(`${prefix}.broadcast.one`);
    expect((await two.publish(toAnna("missed"))).status).toBe(200);
    await restore();
    expect((await resume(app, lastId)).recovered).toBe(false);
  });
});

describe.if(amqpUrl !== undefined)("where RabbitMQ throws messages out of a queue that is full", () => {
  const maxLength = 5;
  let service: RunningService;
  let broker: BrokerUnderTest;

  beforeAll(async () => {
    const started = await startRabbitmq();
    const policy = JSON.stringify({ "max-length": maxLength });
    await started.control("set_policy", "short", ".*", policy, "--apply-to", "queues");
    service = started;
    broker = rabbitmqUnderTest(service.url);
  });
  afterAll(() => service.stop());

  /** As another service, so that the message has no sequence number. */
  const write = (prefix: string, count: number) => {
    const texts = Array.from({ length: count }, (_, number) => JSON.stringify(toAnna(`missed ${number}`)));
    return broker.write(prefix, "broadcast", "user:anna", texts);
  };

  test("`recovered` is false after an instance was cut off, and true if its queue did not become full", async () => {
    const prefix = freshPrefix();
    const { app, cut, restore } = await startBehindProxy(prefix, service.url);
    const before = await leaveWithAll(app);
    await cut();
    await write(prefix, 3);
    await restore();
    const { client, recovered } = await resume(app, before);
    expect(recovered).toBe(true);
    await eventually("all of them arrive", () => client.messages.length >= 3);
    const lastId = await leaveWithAll(app);
    await cut();
    await write(prefix, 4 * maxLength);
    await restore();
    expect((await resume(app, lastId)).recovered).toBe(false);
  });

  test("an instance that is connected and too slow reports a loss", async () => {
    const prefix = freshPrefix();
    const bus = broker.bus({ prefix, instanceId: "slow" });
    stops.push(() => bus.close());
    const gate = Promise.withResolvers<void>();
    let received = 0;
    let losses = 0;
    const handle = (messages: unknown[]) => {
      received += messages.length;
      return gate.promise;
    };
    bus.subscribe("broadcast", handle, () => losses++);
    bus.start();
    await eventually("it is ready", () => bus.state().ready);
    expect(losses).toBe(1);
    const count = 1_000;
    await write(prefix, count);
    await eventually("the loss is reported", () => losses > 1);
    gate.resolve();
    await bus.close();
    expect(received).toBeLessThan(count);
  });
});

describe.if(kafkaUrl !== undefined)("where Kafka has lost what an instance was to read", () => {
  test("`recovered` is false", async () => {
    const url = kafkaUrl ?? "";
    const prefix = freshPrefix();
    const app = await startInstance(prefix, url, "one");
    const lastId = await leaveWithAll(app);
    const sessions = await app.metric("slipway_queue_sessions_total");
    const admin = new Admin({ clientId: "test", bootstrapBrokers: [url.slice("kafka://".length)] });
    stops.push(() => admin.close());
    await admin.deleteTopics({ topics: [`${prefix}.broadcast`] });
    await eventually("it reads the topic that was made anew", async () => {
      const isNew = (await app.metric("slipway_queue_sessions_total")) > sessions;
      return isNew && (await isReady(app));
    });
    expect((await resume(app, lastId)).recovered).toBe(false);
  });
});

describe.if(amqpUrl !== undefined)("while a number of a publisher is missing", () => {
  test("`recovered` is false", async () => {
    const prefix = freshPrefix();
    const broker = rabbitmqUnderTest(amqpUrl ?? "");
    const app = await startInstance(prefix, broker.url, "one");
    await leaveWithAll(app);
    const client = await connect(app);
    const write = async (seq: number) => {
      const message = { v: 1, id: `other-${seq}`, seq, ts: 0, node: "other", ...toAnna(`number ${seq}`) };
      await broker.write(prefix, "broadcast", "user:anna", [JSON.stringify(message)]);
      await eventually("it arrives", () => client.messages.includes(`number ${seq}`));
    };
    await write(1);
    expect((await resume(app, "other-1")).recovered).toBe(true);
    await write(3);
    for (const lastId of ["other-1", "other-3"]) expect((await resume(app, lastId)).recovered).toBe(false);
  });
});
