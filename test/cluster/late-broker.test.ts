import { afterEach, describe, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { RawSocket, upgradeHeaders } from "../support/raw-socket.ts";
import { serviceUrl } from "../support/services.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const brokers = [
  { name: "RabbitMQ", url: await serviceUrl("amqp") },
  { name: "Kafka", url: await serviceUrl("kafka") },
];

const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function startInstance(prefix: string, url: string, instanceId: string): Promise<PushApp> {
  const app = await startPushApp({
    "push.cluster-enabled": true,
    "push.queue.url": url,
    "push.queue.prefix": prefix,
    "push.queue.instance-id": instanceId,
  });
  stops.push(() => app.stop());
  return app;
}

const ready = (app: PushApp) =>
  eventually("it is ready", async () => (await app.get("/readyz")).status === 200);

async function connect(app: PushApp, query = ""): Promise<PushClient> {
  const client = await PushClient.open(`${app.wsUrl}?code=anna${query}`, ["slipway.v1"]);
  stops.push(() => client.close());
  return client;
}

const toAnna = (data: string) => ({ targetType: "user", target: "anna", data });

describe.each(brokers.filter(({ url }) => url !== undefined))(
  "an instance that starts without $name",
  (broker) => {
    test("admits no connection before it has read the log, and clients of other instances resume on it", async () => {
      const prefix = freshPrefix();
      const url = new URL(broker.url ?? "");
      const witness = await startInstance(prefix, url.href.replace(/\/$/, ""), "witness");
      await ready(witness);
      const proxy = startTcpProxy({ hostname: url.hostname, port: Number(url.port) });
      stops.push(() => proxy.stop());
      proxy.cut();
      url.port = String(proxy.port);
      const late = await startInstance(prefix, url.href.replace(/\/$/, ""), "late");

      const knock = new RawSocket(late.port);
      knock.request("GET", "/ws?code=anna", upgradeHeaders);
      const refused = await knock.answer();
      knock.socket.destroy();
      expect(refused.status).toBe(503);
      expect(JSON.parse(refused.body)).toMatchObject({ code: 50305, successful: false });
      expect(refused.headers.get("retry-after")).toBeDefined();

      const listener = await connect(witness);
      expect((await witness.publish(toAnna("acknowledged meanwhile"))).status).toBe(200);
      const [heard] = await listener.receivedType("message");
      proxy.restore();
      await ready(late);

      const client = await connect(late, `&resume=${heard?.position}`);
      const [welcome] = await client.receivedType("welcome");
      expect(welcome?.recovered).toBe(true);
      expect((await witness.publish(toAnna("after"))).status).toBe(200);
      await eventually("what follows arrives", () => client.messages.includes("after"));

      // During a later outage connections are admitted, and reading continues where it stopped.
      proxy.cut();
      const another = await connect(late);
      await another.receivedType("welcome");
    });
  },
);

describe.if(brokers[0]?.url !== undefined)("a login that RabbitMQ refuses", () => {
  test("is named by /readyz, without the word undefined", async () => {
    const url = new URL(brokers[0]?.url ?? "");
    url.password = "wrong";
    const app = await startInstance(freshPrefix(), url.href, "one");
    let text = "";
    await eventually("it says why", async () => {
      text = await (await app.get("/readyz")).text();
      return text.includes("ACCESS_REFUSED");
    });
    expect(text).not.toContain("undefined");
    expect(text).toMatch(/^queue: [\w.:]+: ACCESS_REFUSED/);
  });
});
