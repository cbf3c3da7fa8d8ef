import { afterEach, describe, expect, test } from "bun:test";
import { SlipwayPush } from "../../client/slipway-push.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { openPlain, rawClient, transports } from "../support/transports.ts";

const started: PushApp[] = [];

async function start(values: Parameters<typeof startPushApp>[0]): Promise<PushApp> {
  const push = await startPushApp(values);
  started.push(push);
  return push;
}

afterEach(async () => {
  for (const push of started.splice(0)) await push.verify.stop();
});

describe.each(transports)("drain of %s", (transport) => {
  test("earlier messages are written before the close, also those that the kernel had not accepted yet", async () => {
    const push = await start({});
    const client = rawClient(transport, push.port);
    await client.upgrade("/ws?code=ann");
    client.pause();
    const data = "x".repeat(300_000);
    let sent = 0;
    for (; !((await push.metric("slipway_push_buffered_bytes")) > 0); sent++)
      await push.publish({ targetType: "user", target: "ann", data });
    const stopping = push.app.stop();
    client.resume();
    expect(await client.closeCode()).toBe(1012);
    await stopping;
    const messages = client.frames().filter((frame) => frame.opcode === 1);
    const received = messages.filter(({ payload }) => payload.length >= data.length);
    expect(received).toHaveLength(sent);
    client.end();
  });
});

describe("a drain", () => {
  test("of the only instance closes all at once, whatever the delay and the period are", async () => {
    const push = await start({ "push.drain-delay": 60_000, "push.drain-period": 60_000 });
    const clients = await Promise.all(
      Array.from({ length: 40 }, (_, index) => openPlain("/ws", push.url, `?code=user-${index}`)),
    );
    const startedAt = performance.now();
    await push.app.stop();
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    for (const client of clients) expect((await client.ended()).code).toBe(1012);
  });

  test("a stream of client messages ends with the drain, instead of holding it up", async () => {
    const push = await start({ "push.accept-client-message": true });
    const stream = await push.get("/feign/client-messages");
    const startedAt = performance.now();
    await push.app.stop();
    expect((await stream.text()).trim()).toBe("");
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  test("after a restart under load, clients of our library reconnect, and `recovered` is correct", async () => {
    const listen = { host: "127.0.0.1", port: freePort() };
    const first = await start({ "server.listen": listen, "push.drain-delay": 0, "push.drain-period": 300 });
    const received = new Map<number, Set<string>>();
    const opened: { recovered: boolean; reconnected: boolean }[] = [];
    const clients = Array.from({ length: 10 }, (_, index) => {
      const client = new SlipwayPush({
        url: first.wsUrl,
        code: () => `user-${index}`,
        minDelayMs: 50,
        maxDelayMs: 200,
      });
      received.set(index, new Set());
      client.on("message", ({ data }) => received.get(index)?.add(data));
      client.on("open", (event) => opened.push(event));
      client.open();
      return client;
    });
    await eventually("all are connected", () => opened.length === 10);
    await first.publish({ targetType: "all", data: "before" });
    await first.app.stop();
    const second = await start({ "server.listen": listen });
    await eventually("all came back", () => opened.length === 20);
    // The new process does not have the messages of the old one.
    expect(opened.slice(10).every((event) => event.reconnected && !event.recovered)).toBe(true);
    await second.publish({ targetType: "all", data: "after" });
    await eventually("all hear", () =>
      [...received.values()].every((set) => set.has("before") && set.has("after")),
    );
    for (const client of clients) client.close();
    await second.app.stop();
  });
});
