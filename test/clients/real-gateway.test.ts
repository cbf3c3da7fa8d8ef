import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { Adapter } from "../../clients/conformance/adapter.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { pushClients } from "../support/push-clients.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

let app: PushApp;
let proxy: TcpProxy;
let codes: Bun.Server<undefined>;
let adapter: Adapter | undefined;

beforeAll(async () => {
  app = await startPushApp();
  proxy = startTcpProxy({ hostname: "127.0.0.1", port: app.port });
  // The verify service of the tests uses the code as the user id.
  codes = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ann") });
});
afterEach(async () => {
  await adapter?.kill();
  proxy.restore();
});
afterAll(async () => {
  proxy.stop();
  await codes.stop(true);
  await app.stop();
});

const publish = (data: string) => app.publish({ targetType: "channel", target: "news", data });

for (const { name, adapter: command } of await pushClients())
  test.skipIf(command === null)(
    `${name} loses nothing when the network is cut, and stops when it is told to`,
    async () => {
      const client = new Adapter(command ?? [], {
        ...{ url: `ws://127.0.0.1:${proxy.port}/ws`, codeUrl: codes.url.href, channels: ["news"] },
        ...{ minDelayMs: 20, maxDelayMs: 200 },
      });
      adapter = client;
      const next = (wanted: string) => client.events.take(({ event }) => event === wanted);
      expect(await next("open")).toMatchObject({ userId: "ann", reconnected: false });
      await publish("one");
      expect(await next("message")).toMatchObject({ data: "one", targetType: "channel", target: "news" });
      proxy.cut();
      await client.events.take(({ event, state }) => event === "status" && state === "waiting");
      for (const data of ["two", "three"]) await publish(data);
      proxy.restore();
      expect(await next("open")).toMatchObject({ reconnected: true, recovered: true });
      expect([(await next("message")).data, (await next("message")).data]).toEqual(["two", "three"]);
      await app.post("/feign/disconnect", { userId: "ann" });
      expect(
        await client.events.take(({ event, state }) => event === "status" && state === "closed"),
      ).toMatchObject({ closeCode: 4004 });
      await client.end();
    },
  );
