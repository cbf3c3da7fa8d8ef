import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";

describe.each(["amqp", "kafka"] as const)("batches over %s", (name) => {
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
  });
  afterAll(() => Promise.all([one.stop(), two.stop()]));

  test("reach the users of every instance, in order and once", async () => {
    const near = await PushClient.open(`${one.wsUrl}?code=ann`);
    const far = await PushClient.open(`${two.wsUrl}?code=bob`, ["slipway.v1"]);
    await far.receivedType("welcome");
    const texts = Array.from({ length: 1000 }, (_, index) => `message ${index}`);
    const messages = texts.map((data) => ({ targetType: "all", data }));
    const answer = (await (await one.post("/feign/publishBatch", { messages })).json()) as {
      data: { code: number; id: string }[];
    };
    expect(answer.data.every(({ code }) => code === 0)).toBe(true);
    const body = { users: ["bob", "ann"], data: "to both", idempotencyKey: crypto.randomUUID() };
    const first = await one.post("/feign/publishBatch", body);
    const repeated = await two.post("/feign/publishBatch", body);
    expect(repeated.headers.get("x-push-id")).toBe(first.headers.get("x-push-id"));
    await two.publish({ targetType: "all", data: "last" });
    await Promise.all([near.received(1002), far.receivedType("message", 1002)]);
    expect(near.frames).toEqual([...texts, "to both", "last"]);
    expect(far.messages).toEqual(near.frames);
    expect(
      far
        .ofType("message")
        .slice(0, 1000)
        .map(({ id }) => id),
    ).toEqual(answer.data.map(({ id }) => id));
    near.close();
    far.close();
  });
});
