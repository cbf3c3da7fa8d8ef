import { afterAll, describe, expect, test } from "bun:test";
import { startApiServer } from "../support/api-server.ts";
import { type BrokerUnderTest, freshPrefix, kafkaUnderTest, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { startWorkers, v1, type WorkerInstance } from "../support/worker-instance.ts";

const amqpUrl = await serviceUrl("amqp");
const kafkaUrl = await serviceUrl("kafka");
const verify = startVerifyService();
const stops: (() => Promise<void>)[] = [() => verify.stop()];
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

async function dataOf<T>(push: WorkerInstance, path: string): Promise<T> {
  return ((await (await push.call(path)).json()) as { data: T }).data;
}

function cluster(broker: BrokerUnderTest) {
  test(`two workers and another instance over ${broker.name}: messages, local scope, limits, metrics, a killed worker`, async () => {
    const prefix = freshPrefix();
    const [push, other] = await Promise.all([
      startWorkers(2, {
        "push-verify-uri": verify.url,
        "push-cluster-enabled": "true",
        "push-queue-url": broker.url,
        "push-queue-prefix": prefix,
        "push-queue-instance-id": "workers",
        "push-max-connections-per-user": "3",
      }),
      startPushApp({
        "push.cluster-enabled": true,
        "push.queue.url": broker.url,
        "push.queue.prefix": prefix,
        "push.queue.instance-id": "other",
      }),
    ]);
    stops.push(
      () => push.stop(),
      () => other.stop(),
    );
    await eventually("the other one is ready", async () => (await other.get("/readyz")).status === 200);
    const anna = await push.openOnEach("code=anna&channel=news");
    const bert = await PushClient.open(`${other.wsUrl}?code=bert`, v1);
    for (const [index, publish] of [push.publish, other.publish].entries()) {
      expect((await publish({ targetType: "all", data: `to all ${index}` })).status).toBe(200);
      for (const client of [...anna, bert])
        await eventually("it arrives", () => client.messages.includes(`to all ${index}`));
    }
    for (const client of [...anna, bert]) expect(client.messages).toEqual(["to all 0", "to all 1"]);

    const first = String(bert.ofType("message")[0]?.id);
    for (const client of await push.openOnEach(`code=bert&temp=1&resume=${first}`)) {
      await eventually("it resumes", () => client.messages.includes("to all 1"));
      client.close();
      await client.ended();
    }

    expect(await dataOf<string[]>(push, "/feign/getOnlineUsers")).toEqual(["anna"]);
    expect(await other.online()).toEqual(["bert"]);
    await eventually("both are online in the cluster", async () => {
      const users = await dataOf<string[]>(push, "/feign/getOnlineUsers?scope=cluster");
      return users.sort().join() === "anna,bert";
    });
    expect(await dataOf(push, "/feign/connections")).toMatchObject({
      node: "workers",
      total: 2,
      users: 1,
      channelCount: 1,
    });
    await eventually("the cluster has two instances", async () => {
      const text = await (await push.call("/metrics")).text();
      return /^slipway_push_cluster_instances 2$/m.test(text) && /^slipway_push_cluster_users 2$/m.test(text);
    });

    const third = await push.open("code=anna");
    const fourth = new PushClient(`${push.url.replace("http", "ws")}/ws?code=anna`);
    await eventually("a fourth is refused", () => fourth.closed !== null);
    expect(fourth.isOpen).toBe(false);

    const [victim = 0] = push.workerPids();
    process.kill(victim, "SIGKILL");
    await eventually("a connection ends", () => [...anna, third].some(({ closed }) => closed !== null));
    await eventually("the worker is replaced", push.isReady);
    const later = await push.openOnEach("code=carl");
    await push.publish({ targetType: "user", target: "carl", data: "after" });
    for (const client of later) await eventually("it arrives", () => client.messages.includes("after"));

    const left = [...anna, third].filter(({ closed }) => closed === null);
    const kicked = await push.call("/feign/disconnect", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ userId: "anna" }),
    });
    expect(Number(kicked.headers.get("x-push-connections"))).toBe(left.length);
    for (const client of left) expect((await client.ended()).code).toBe(4004);
    for (const client of [bert, ...later]) client.close();
  });
}

describe("workers with a broker", () => {
  if (amqpUrl) cluster(rabbitmqUnderTest(amqpUrl));
  if (kafkaUrl) cluster(kafkaUnderTest(kafkaUrl));

  test("that only get client messages and presence events: one event for a user on all workers", async () => {
    if (!amqpUrl) return;
    const broker = rabbitmqUnderTest(amqpUrl);
    const prefix = freshPrefix();
    const events = await broker.read(prefix, "events");
    const push = await startWorkers(2, {
      "push-verify-uri": verify.url,
      "push-accept-client-message": "true",
      "push-queue-client-messages": "true",
      "push-queue-url": broker.url,
      "push-queue-prefix": prefix,
    });
    // While workers start, two may publish an event, under one id.
    const seen = (type: string) =>
      new Set(events.messages.filter((event) => event.type === type).map(({ id }) => id)).size;
    const [one, two] = await push.openOnEach("code=anna");
    await eventually("anna is online", () => seen("online") > 0);
    expect(
      (await push.publish({ targetType: "user", target: "anna", data: "x" })).headers.get("x-push-receivers"),
    ).toBe("2");
    one?.close();
    await one?.ended();
    expect(await dataOf<string[]>(push, "/feign/getOnlineUsers")).toEqual(["anna"]);
    two?.close();
    await push.end("SIGTERM");
    await eventually("anna is offline", () => seen("offline") > 0);
    expect([seen("online"), seen("offline")]).toEqual([1, 1]);
    await events.stop();
    await push.stop();
  });
});

test("a code of the deploy service admits one connection, on whichever worker it is used", async () => {
  const deploy = await startApiServer();
  stops.push(() => deploy.stop());
  const push = await startWorkers(3, { "push-verify-uri": `${deploy.url}/api/push/verify` });
  stops.push(() => push.stop());
  for (let round = 0; round < 3; round++) {
    const { code } = await deploy.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
      for: "console",
    });
    const attempts = Array.from(
      { length: 9 },
      () => new PushClient(`${push.url.replace("http", "ws")}/ws?temp=1&code=${code}`),
    );
    await eventually("all are answered", () =>
      attempts.every(({ isOpen, closed }) => isOpen || closed !== null),
    );
    expect(attempts.filter(({ isOpen }) => isOpen)).toHaveLength(1);
    for (const attempt of attempts) attempt.close();
  }
});
