import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { serviceUrl } from "../support/services.ts";
import { StreamClient } from "../support/stream-client.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { startWorkers, type WorkerInstance } from "../support/worker-instance.ts";

describe.each(["amqp", "kafka"] as const)("event streams over %s", (name) => {
  let one: PushApp;
  let two: PushApp;

  beforeAll(async () => {
    const settings = { "push.cluster-enabled": true, "push.queue.url": await serviceUrl(name) };
    const prefix = freshPrefix();
    const start = (id: string) =>
      startPushApp({ ...settings, "push.queue.prefix": prefix, "push.queue.instance-id": id });
    [one, two] = await Promise.all([start("one"), start("two")]);
    for (const app of [one, two])
      await eventually("it is ready", async () => (await app.get("/readyz")).status === 200);
    await eventually("they know each other", async () => {
      const counts = await Promise.all([one, two].map((app) => app.metric("slipway_push_cluster_instances")));
      return counts.every((count) => count === 2);
    });
  });
  afterAll(() => Promise.all([one.stop(), two.stop()]));

  test("a frame that arrives at another instance is handled where the stream is", async () => {
    const client = await StreamClient.open(`${one.url}/sse?code=ann`);
    await client.receivedType("welcome");
    expect((await client.post('{"type":"join","channel":"news"}', two.url)).status).toBe(200);
    await client.receivedType("joined");
    await two.publish({ targetType: "channel", target: "news", data: "hello" });
    await client.receivedType("message");
    expect((await client.post("nonsense", two.url)).status).toBe(200);
    expect(await client.receivedType("error")).toMatchObject([{ code: "frame_invalid" }]);
    client.close();
    await eventually(
      "it is gone",
      async () => (await client.post('{"type":"join","channel":"news"}', two.url)).status === 404,
    );
  });

  test("a client resumes by its last event id on another instance, without loss or repeats", async () => {
    const first = await StreamClient.open(`${one.url}/sse?code=bob`);
    await first.receivedType("welcome");
    await one.publish({ targetType: "user", target: "bob", data: "received" });
    await first.receivedType("message");
    first.close();
    for (const data of ["missed 1", "missed 2"])
      await two.publish({ targetType: "user", target: "bob", data });
    const second = await StreamClient.open(`${two.url}/sse?code=bob`, {
      "last-event-id": first.lastEventId,
    });
    await second.receivedType("message", 2);
    await one.publish({ targetType: "user", target: "bob", data: "live" });
    await second.receivedType("message", 3);
    expect(second.messages).toEqual(["missed 1", "missed 2", "live"]);
    expect(second.ofType("welcome")).toMatchObject([{ recovered: true }]);
    second.close();
  });

  test("a made-up name is unknown, and asks no process that does not exist", async () => {
    const client = await StreamClient.open(`${one.url}/sse?code=eve`);
    const [welcome] = await client.receivedType("welcome");
    const [process] = String(welcome?.stream).split(".");
    const post = (stream: string) =>
      fetch(`${two.url}/sse?stream=${stream}`, { method: "POST", body: "ping" });
    const startedAt = performance.now();
    for (let index = 0; index < 50; index++) expect((await post(`unknown.${index}`)).status).toBe(404);
    // A question to the log would wait for an answer that never comes.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect((await post(`${process}.guessed`)).status).toBe(404);
    client.close();
  });
});

test("frames for a stream of another instance are limited by push.connect-rate", async () => {
  const app = await startPushApp({ "push.connect-rate": 5 });
  const statuses = await Promise.all(
    Array.from({ length: 20 }, () =>
      fetch(`${app.url}/sse?stream=elsewhere.x`, { method: "POST", body: "ping" }).then(
        ({ status }) => status,
      ),
    ),
  );
  expect(new Set(statuses)).toEqual(new Set([404, 429]));
  await app.stop();
});

describe("event streams of three workers", () => {
  const verify = startVerifyService();
  let push: WorkerInstance;

  beforeAll(async () => {
    push = await startWorkers(3, { "push-verify-uri": verify.url, "push-connect-rate": "0" });
  });
  afterAll(async () => {
    await push.stop();
    await verify.stop();
  });

  test("take frames at any worker, and count as connections of the instance", async () => {
    const clients = await Promise.all(
      Array.from({ length: 12 }, (_, index) => StreamClient.open(`${push.url}/sse?code=user-${index}`)),
    );
    for (const client of clients) await client.receivedType("welcome");
    const owners = new Set(clients.map(({ parsed }) => String(parsed[0]?.stream).split(".")[0]));
    expect(owners.size).toBeGreaterThan(1);
    for (const client of clients)
      for (const channel of ["a", "b", "c"]) {
        const [welcome] = client.ofType("welcome");
        const answer = await push.call(`/sse?stream=${welcome?.stream}`, {
          method: "POST",
          body: JSON.stringify({ type: "join", channel }),
        });
        expect(answer.status).toBe(200);
      }
    for (const client of clients) await client.receivedType("joined", 3);
    const sent = await push.publish({ targetType: "channel", target: "b", data: "to all of them" });
    expect(sent.headers.get("x-push-receivers")).toBe("12");
    for (const client of clients) await client.receivedType("message");
    const online = (await (await push.call("/feign/getOnlineUsers")).json()) as { data: string[] };
    expect(online.data).toHaveLength(12);
    const metrics = await (await push.call("/metrics")).text();
    expect(metrics).toContain("slipway_push_event_streams 12");
    for (const client of clients) client.close();
  });
});
