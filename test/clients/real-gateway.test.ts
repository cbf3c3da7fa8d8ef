import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { Adapter } from "../../clients/conformance/adapter.ts";
import { freePort } from "../support/free-port.ts";
import { startProxyWithoutUpgrades } from "../support/no-upgrades.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { pushClients } from "../support/push-clients.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

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
        ...{ minDelayMs: 20, maxDelayMs: 200, stateFolder: temporaryFolder("state") },
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

for (const { name, adapter: command } of await pushClients())
  test.skipIf(command === null)(`${name} uses an event stream where upgrades are refused`, async () => {
    const refusing = startProxyWithoutUpgrades(app.url);
    const client = new Adapter(command ?? [], {
      ...{ url: `${refusing.url.replace("http", "ws")}/ws`, codeUrl: codes.url.href, channels: ["news"] },
      ...{ minDelayMs: 20, maxDelayMs: 200, stateFolder: temporaryFolder("state") },
    });
    adapter = client;
    const next = (wanted: string) => client.events.take(({ event }) => event === wanted);
    expect(await next("open")).toMatchObject({ transport: "sse", userId: "ann", reconnected: false });
    await publish("one");
    expect(await next("message")).toMatchObject({ data: "one", target: "news" });
    client.command({ join: "later" });
    expect(await next("joined")).toMatchObject({ channel: "later" });
    await app.post("/feign/disconnect", { userId: "ann", code: 4200 });
    await client.events.take(({ event, state }) => event === "status" && state === "waiting");
    await publish("two");
    expect(await next("open")).toMatchObject({ transport: "sse", reconnected: true, recovered: true });
    expect(await next("message")).toMatchObject({ data: "two" });
    await client.end();
    await refusing.stop();
  });

for (const { name, adapter: command } of await pushClients())
  test.skipIf(command === null)(`${name} stays with WebSockets over a restart of the gateway`, async () => {
    const listen = { host: "127.0.0.1", port: freePort() };
    let gateway = await startPushApp({ "server.listen": listen });
    const client = new Adapter(command ?? [], {
      ...{ url: gateway.wsUrl, codeUrl: codes.url.href, stateFolder: temporaryFolder("state") },
    });
    adapter = client;
    const next = (wanted: string) => client.events.take(({ event }) => event === wanted);
    expect(await next("open")).toMatchObject({ transport: "websocket" });
    await gateway.stop();
    // Three attempts fail, with the pauses of the default options.
    for (let attempt = 0; attempt < 4; attempt++)
      await client.events.take(({ event, state }) => event === "status" && state === "waiting");
    gateway = await startPushApp({ "server.listen": listen });
    const readyAt = performance.now();
    expect(await next("open")).toMatchObject({ transport: "websocket", reconnected: true });
    // The pause is at most 1.5 s; the rest is for a busy machine.
    expect(performance.now() - readyAt).toBeLessThan(6_000);
    await client.end();
    await gateway.stop();
  });
