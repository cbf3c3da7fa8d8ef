import { afterEach, describe, expect, test } from "bun:test";
import { Admin } from "@platformatic/kafka";
import { connectTo, freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
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

  test("false where the stream was deleted meanwhile", async () => {
    const prefix = freshPrefix();
    const { app, cut, restore } = await startBehindProxy(prefix, url);
    const lastId = await leaveWithAll(app);
    await cut();
    const bare = connectTo(url);
    stops.push(() => bare.unsafeDestroy());
    await bare.queueDelete(`${prefix}.broadcast`);
    await restore();
    expect((await resume(app, lastId)).recovered).toBe(false);
    await leaveWithAll(app);
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
