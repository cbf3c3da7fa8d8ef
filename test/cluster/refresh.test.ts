import { afterAll, beforeAll, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { serviceUrl } from "../support/services.ts";
import { jwtSecret, signedCode } from "../support/signed-code.ts";

let apps: PushApp[] = [];

beforeAll(async () => {
  const url = await serviceUrl("amqp");
  const prefix = freshPrefix();
  const start = (id: string) =>
    startPushApp({
      "push.cluster-enabled": true,
      "push.queue.url": url,
      "push.queue.prefix": prefix,
      "push.queue.instance-id": id,
      "push.jwt.secrets": [jwtSecret],
      "push.max-lifetime": 20_000,
      "push.ping-interval": 200,
    });
  apps = await Promise.all(["one", "two"].map(start));
  for (const app of apps)
    await eventually("it is ready", async () => (await app.get("/readyz")).status === 200);
});
afterAll(() => Promise.all(apps.map((app) => app.stop())));

test("a token that admitted a connection elsewhere does not refresh one here; a fresh one does", async () => {
  const [one, two] = apps as [PushApp, PushApp];
  const fresh = () => signedCode({ sub: "42", jti: crypto.randomUUID() });
  const used = await fresh();
  const elsewhere = await PushClient.open(`${one.wsUrl}?code=${used}`);
  const client = await PushClient.open(`${two.wsUrl}?code=${await fresh()}`, ["slipway.v1"]);
  await eventually("it is asked", () => client.ofType("refresh").length > 0, 30_000);
  client.send(JSON.stringify({ type: "refresh", code: used }));
  expect((await client.receivedType("error"))[0]).toMatchObject({ code: "refresh_rejected" });
  await eventually("another code is accepted", async () => {
    client.send(JSON.stringify({ type: "refresh", code: await fresh() }));
    // A code is refused until a second after the last one: frames of the same second are limited.
    await Bun.sleep(200);
    return client.ofType("refreshed").length > 0;
  });
  expect(client.closed).toBeNull();
  client.close();
  elsewhere.close();
}, 60_000);
