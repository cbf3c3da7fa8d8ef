import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { Admin } from "@platformatic/kafka";
import { type BrokerUnderTest, freshPrefix, kafkaUnderTest, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");

async function isReady(app: PushApp): Promise<boolean> {
  return (await app.get("/readyz")).status === 200;
}

function cluster(broker: BrokerUnderTest) {
  describe(`two instances over ${broker.name}`, () => {
    const prefix = freshPrefix();
    const clients: PushClient[] = [];
    let one: PushApp;
    let two: PushApp;

    const settings = (instanceId: string) => ({
      "push.cluster-enabled": true,
      "push.queue.url": broker.url,
      "push.queue.prefix": prefix,
      "push.queue.instance-id": instanceId,
      "push.accept-client-message": true,
      "push.queue-client-messages": true,
    });

    beforeAll(async () => {
      [one, two] = await Promise.all([startPushApp(settings("one")), startPushApp(settings("two"))]);
      await eventually("both are ready", async () => (await isReady(one)) && (await isReady(two)));
    });

    afterEach(() => {
      for (const client of clients.splice(0)) client.close();
    });

    afterAll(async () => {
      await Promise.all([one.stop(), two.stop()]);
    });

    async function open(app: PushApp, query: string, protocols: string[] = []): Promise<PushClient> {
      const client = await PushClient.open(`${app.wsUrl}?${query}`, protocols);
      clients.push(client);
      return client;
    }

    test("a message reaches its targets on every instance, whatever the target type", async () => {
      const everywhere = await Promise.all(
        [one, two].map(async (app) => ({
          normal: await open(app, "code=anna&channel=news"),
          temporary: await open(app, "code=anna&temp=1"),
          other: await open(app, "code=bert"),
        })),
      );
      const send = (targetType: string, target: string) =>
        one.publish({ targetType, target, data: `to ${targetType}` });
      const answer = await send("all", "");
      expect(await answer.json()).toMatchObject({ data: "publish success, written to the message queue" });
      expect(answer.headers.get("x-push-receivers")).toBeNull();
      expect(answer.headers.get("x-push-id")).toBeString();
      await send("user", "anna");
      await send("temp_user", "anna");
      await send("channel", "news");
      await two.publish({ targetType: "all", target: "", data: "last" });
      for (const { normal, temporary, other } of everywhere) {
        const heard = (client: PushClient) =>
          eventually("the last message arrives", () => client.frames.includes("last"));
        await Promise.all([normal, temporary, other].map(heard));
        await eventually("all arrive", () => normal.frames.length === 4 && temporary.frames.length === 4);
        expect(normal.frames.toSorted()).toEqual(["last", "to all", "to channel", "to user"]);
        expect(temporary.frames.toSorted()).toEqual(["last", "to all", "to temp_user", "to user"]);
        expect(other.frames.toSorted()).toEqual(["last", "to all"]);
      }
    });

    test("connections are closed, join and leave channels wherever they are", async () => {
      const far = await open(two, "code=carl");
      await one.post("/feign/channels/join", { userId: "carl", channel: "deals" });
      await one.publish({ targetType: "channel", target: "deals", data: "joined" });
      // The control message and the broadcast are on different topics, so their order may change.
      await eventually("carl hears the channel", async () => {
        if (far.frames.length === 0)
          await one.publish({ targetType: "channel", target: "deals", data: "joined" });
        return far.frames.length > 0;
      });
      await one.post("/feign/channels/leave", { userId: "carl", channel: "deals" });
      await eventually("carl has left", async () => {
        const report = (await (await two.get("/feign/connections?userId=carl")).json()) as {
          data: { channels: Record<string, number> };
        };
        return !JSON.stringify(report.data).includes("deals");
      });
      await one.post("/feign/disconnect", { userId: "carl" });
      expect((await far.ended()).code).toBe(4004);
    });

    test("scope=cluster answers for all instances, with the instance of each connection", async () => {
      const [near, far] = [await open(one, "code=frida"), await open(two, "code=frida&temp=1")];
      const report = (await (await one.get("/feign/connections?scope=cluster&userId=frida")).json()) as {
        data: { connections: unknown[]; instances: unknown[]; missing: string[]; normal: number };
      };
      expect(report.data.connections).toHaveLength(2);
      expect(report.data.connections).toContainEqual(
        expect.objectContaining({ userId: "frida", kind: "normal", instance: "one" }),
      );
      expect(report.data.connections).toContainEqual(
        expect.objectContaining({ userId: "frida", kind: "temporary", instance: "two" }),
      );
      expect(report.data).toMatchObject({ normal: 1, temporary: 1, missing: [] });
      expect(report.data.instances).toHaveLength(2);
      const closed = await one.post("/feign/disconnect?scope=cluster", { userId: "frida" });
      expect(closed.headers.get("x-push-connections")).toBe("2");
      const { data } = (await closed.json()) as {
        data: { connections: { instance: string }[]; missing: string[] };
      };
      expect(data.connections.map(({ instance }) => instance).sort()).toEqual(["one", "two"]);
      expect(data.missing).toEqual([]);
      for (const client of [near, far]) expect((await client.ended()).code).toBe(4004);
    });

    test("an Idempotency-Key is honoured by every instance", async () => {
      const near = await open(one, "code=dora");
      const far = await open(two, "code=dora");
      const body = { targetType: "user", target: "dora", data: "once" };
      const key = { "idempotency-key": crypto.randomUUID() };
      const first = await one.publish(body, key);
      await Promise.all([near.received(1), far.received(1)]);
      const second = await two.publish(body, key);
      expect(second.status).toBe(200);
      expect(second.headers.get("x-push-id")).toBe(first.headers.get("x-push-id"));
      expect((await two.publish({ ...body, data: "another" }, key)).status).toBe(409);
      await one.publish({ targetType: "user", target: "dora", data: "after" });
      await Promise.all([near.received(2), far.received(2)]);
      expect([near.frames, far.frames]).toEqual([
        ["once", "after"],
        ["once", "after"],
      ]);
    });

    test("a client resumes on another instance", async () => {
      // An instance that has just begun to consume cannot know about earlier messages.
      await eventually("nothing can be missing", async () => {
        const before = await open(one, "code=emil", ["slipway.v1"]);
        await two.publish({ targetType: "user", target: "emil", data: "seen" });
        const [seen] = await before.receivedType("message");
        before.close();
        await before.ended();
        await one.publish({ targetType: "user", target: "emil", data: "missed" });
        const after = await open(two, `code=emil&resume=${seen?.id}`, ["slipway.v1"]);
        const [welcome] = await after.receivedType("welcome");
        await eventually("what was missed arrives", () => after.messages.includes("missed"));
        return welcome?.recovered === true;
      });
    });

    test("messages of another service on the queue are delivered, and invalid ones are counted", async () => {
      const client = await open(two, "code=fred");
      const before = await two.metric("slipway_push_unreadable_total");
      await broker.write(prefix, "broadcast", "user:fred", [
        "not JSON",
        JSON.stringify({ targetType: "nobody", data: "x" }),
        JSON.stringify({ targetType: "user", target: "fred", data: "from elsewhere" }),
      ]);
      expect(await client.received(1)).toEqual(["from elsewhere"]);
      expect(await two.metric("slipway_push_unreadable_total")).toBe(before + 2);
    });

    test("client messages are written to the queue in order, with user and connection", async () => {
      const written = await broker.read(prefix, "client");
      const client = await open(two, "code=jan");
      for (let number = 0; number < 30; number++) client.send(`message ${number}`);
      await eventually("all are in the queue", () => written.messages.length === 30);
      expect(written.messages.map(({ data }) => data)).toEqual(
        Array.from({ length: 30 }, (_, number) => `message ${number}`),
      );
      expect(written.messages[0]).toMatchObject({ v: 1, node: "two", userId: "jan", kind: "normal" });
      await written.stop();
    });

    test("client messages go to the queue also from a single instance", async () => {
      const single = await startPushApp({
        "push.queue.url": broker.url,
        "push.queue.prefix": freshPrefix(),
        "push.accept-client-message": true,
        "push.queue-client-messages": true,
      });
      const written = await broker.read(single.config["push.queue.prefix"], "client");
      const client = await PushClient.open(`${single.wsUrl}?code=kai`);
      await eventually("a message is in the queue", async () => {
        client.send("hello");
        // The rate of client messages is limited.
        await Bun.sleep(50);
        return written.messages.length > 0;
      });
      expect(
        await (await single.publish({ targetType: "user", target: "kai", data: "x" })).json(),
      ).toMatchObject({
        data: "publish success",
      });
      client.close();
      await written.stop();
      await single.stop();
    });
  });
}

test.if(kafkaUrl !== undefined)(
  "what the queue finds too large is answered as what we find too large",
  async () => {
    const prefix = freshPrefix();
    const admin = new Admin({ clientId: "test", bootstrapBrokers: [new URL(kafkaUrl ?? "").host] });
    const configs = [{ name: "max.message.bytes", value: "1000" }];
    await admin.createTopics({ topics: [`${prefix}.broadcast`], partitions: 1, replicas: 1, configs });
    await admin.close();
    const app = await startPushApp({
      "push.cluster-enabled": true,
      "push.queue.url": kafkaUrl ?? "",
      "push.queue.prefix": prefix,
      "push.queue.instance-id": "one",
    });
    await eventually("it is ready", () => isReady(app));
    const answer = await app.publish({ targetType: "all", target: "", data: "x".repeat(2_000) });
    expect(answer.status).toBe(413);
    expect(await answer.json()).toMatchObject({ code: 41301 });
    expect((await app.publish({ targetType: "all", target: "", data: "x" })).status).toBe(200);
    await app.stop();
  },
);

if (amqpUrl) cluster(rabbitmqUnderTest(amqpUrl));
if (kafkaUrl) cluster(kafkaUnderTest(kafkaUrl));
