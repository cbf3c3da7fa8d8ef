import { afterEach, describe, expect, test } from "bun:test";
import { freshPrefix, rabbitmqUnderTest } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { serviceUrl } from "../support/services.ts";

const amqpUrl = await serviceUrl("amqp");
const apps: PushApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.stop();
});

async function start(settings: Parameters<typeof startPushApp>[0]): Promise<PushApp> {
  const app = await startPushApp(settings);
  apps.push(app);
  return app;
}

/** Publishes with the same Idempotency-Key each time. */
async function publish(app: PushApp, apiKey: string, data: string): Promise<[number, string | null]> {
  const headers = { "idempotency-key": "order-7", "x-api-key": apiKey };
  const answer = await app.publish({ targetType: "user", target: "anna", data }, headers);
  return [answer.status, answer.headers.get("x-push-id")];
}

describe("an Idempotency-Key", () => {
  test("belongs to the caller that chose it, not to other callers", async () => {
    const app = await start({
      "push.api-keys": ["key of the shop", "key of billing", "crm:1"],
      "push.deploy-key": "deploy",
    });
    const ids = new Set<string | null>();
    for (const key of ["key of the shop", "key of billing", "crm:1", "deploy"]) {
      const [status, id] = await publish(app, key, `from ${key}`);
      expect([key, status]).toEqual([key, 200]);
      expect(await publish(app, key, `from ${key}`)).toEqual([200, id]);
      expect((await publish(app, key, "another body"))[0]).toBe(409);
      ids.add(id);
    }
    expect(ids.size).toBe(4);
  });

  test("stays valid when the key of a named caller is replaced", async () => {
    const app = await start({ "push.api-keys": ["shop:old", "shop:new", "billing:old"] });
    const [, id] = await publish(app, "shop:old", "once");
    expect(await publish(app, "shop:new", "once")).toEqual([200, id]);
    expect((await publish(app, "shop:new", "another body"))[0]).toBe(409);
    expect((await publish(app, "billing:old", "another body"))[0]).toBe(200);
  });

  test("may have 255 characters, whatever the name of the caller", async () => {
    const app = await start({ "push.api-keys": [`${"s".repeat(60)}:1`] });
    const send = (length: number) =>
      app.publish(
        { targetType: "all", data: "x" },
        { "x-api-key": `${"s".repeat(60)}:1`, "idempotency-key": "k".repeat(length) },
      );
    expect([(await send(255)).status, (await send(256)).status]).toEqual([200, 400]);
  });

  test.if(amqpUrl !== undefined)("of a named caller is known on every instance of a cluster", async () => {
    const cluster = {
      "push.cluster-enabled": true,
      "push.queue.url": rabbitmqUnderTest(amqpUrl ?? "").url,
      "push.queue.prefix": freshPrefix(),
    };
    // The order of the keys may differ, and one instance may have the new key already.
    const one = await start({ ...cluster, "push.api-keys": ["shop:old", "billing:1"] });
    const two = await start({ ...cluster, "push.api-keys": ["billing:1", "shop:old", "shop:new"] });
    for (const app of [one, two])
      await eventually("it is ready", async () => (await app.get("/readyz")).status === 200);
    const [status, id] = await publish(one, "shop:old", "once");
    expect(status).toBe(200);
    await eventually("the other instance knows the key", async () => {
      const [, repeated] = await publish(two, "shop:new", "once");
      return repeated === id;
    });
    expect((await publish(two, "shop:new", "another body"))[0]).toBe(409);
    expect((await publish(two, "billing:1", "another body"))[0]).toBe(200);
  });
});
