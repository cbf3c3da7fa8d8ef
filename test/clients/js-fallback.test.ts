import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { fallbackTransport } from "../../client/fallback-transport.ts";
import { type PushOpened, SlipwayPush } from "../../client/slipway-push.ts";
import type { ConnectRequest, LinkEvents, Transport } from "../../client/transport.ts";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { type RefusingProxy, startRefusingNginx } from "../support/reverse-proxies.ts";
import { serviceUrl } from "../support/services.ts";

const nginx = await serviceUrl("nginx");
const hasChromium = (await serviceUrl("chromium")) !== undefined;

/** A transport whose attempts the test ends. */
function heldTransport(name: string) {
  const attempts: LinkEvents[] = [];
  const closed: LinkEvents[] = [];
  const transport: Transport = {
    connect(_request, events) {
      attempts.push(events);
      return { transport: name, send() {}, close: () => closed.push(events) };
    },
  };
  return { attempts, closed, transport };
}

describe("the choice of a transport", () => {
  let first: ReturnType<typeof heldTransport>;
  let second: ReturnType<typeof heldTransport>;
  let connect: () => { transport: string; ended: [number, string][]; close(): void };
  let codes = 0;

  beforeEach(() => {
    first = heldTransport("websocket");
    second = heldTransport("sse");
    const fallback = fallbackTransport(first.transport, second.transport, 1);
    const request: ConnectRequest = { url: "", query: "", renew: async () => `code=${++codes}` };
    connect = () => {
      const ended: [number, string][] = [];
      const events = { frame() {}, closed: (...end: [number, string]) => void ended.push(end) };
      const link = fallback.connect(request, events);
      return { transport: link.transport, ended, close: () => link.close() };
    };
  });

  /** The last attempt ends before it opened, while plain requests reach the gateway. */
  const refuse = ({ attempts }: typeof first) => attempts.at(-1)?.closed(1006, "", true);
  /** The last attempt ends before it opened: the gateway is away, or refuses it. */
  const fail = ({ attempts }: typeof first, code = 1006) => attempts.at(-1)?.closed(code, "");

  test("the second one is used after two refused upgrades", () => {
    for (const used of ["websocket", "websocket", "sse"]) {
      expect(connect().transport).toBe(used);
      refuse(first);
    }
  });

  test("a gateway that is away, or refuses the attempt itself, is no reason for the second one", () => {
    for (const code of [1006, 1006, 1006, 4100, 4100]) {
      expect(connect().transport).toBe("websocket");
      fail(first, code);
    }
    refuse(first);
    connect();
    first.attempts.at(-1)?.frame("welcome");
    fail(first);
    connect();
    refuse(first);
    expect(connect().transport).toBe("websocket");
  });

  test("while both fail they are tried in turns, and not before the next refused upgrade", () => {
    const used: string[] = [];
    const attempt = (end: typeof refuse) => {
      const { transport } = connect();
      used.push(transport);
      end(transport === "sse" ? second : first);
    };
    for (const end of [refuse, refuse, fail, fail, refuse, fail, fail]) attempt(end);
    expect(used).toEqual(["websocket", "websocket", "sse", "websocket", "websocket", "sse", "websocket"]);
  });

  test("after the gateway refused the second one too, two refused upgrades are needed again", () => {
    for (const end of [refuse, refuse]) {
      connect();
      end(first);
    }
    expect(connect().transport).toBe("sse");
    fail(second, 4100);
    connect();
    refuse(first);
    expect(connect().transport).toBe("websocket");
  });

  test("the first one is tried beside the second, with a new code, until it works", async () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      connect();
      refuse(first);
    }
    const used = connect();
    second.attempts.at(-1)?.frame("welcome");
    await eventually("it is tried", () => first.attempts.length === 3);
    refuse(first);
    await eventually("it is tried again", () => first.attempts.length === 4);
    expect([used.ended, second.closed.length]).toEqual([[], 0]);
    first.attempts.at(-1)?.frame("welcome");
    expect(used.ended).toEqual([[1012, "WebSocket works again"]]);
    // The trial and the stream are closed, and the next connection is a WebSocket.
    expect([first.closed.length, second.closed.length]).toEqual([3, 1]);
    expect(connect().transport).toBe("websocket");
  });

  test("a closed connection is tried no more", async () => {
    for (let attempt = 0; attempt < 2; attempt++) {
      connect();
      refuse(first);
    }
    const used = connect();
    second.attempts.at(-1)?.frame("welcome");
    used.close();
    // That nothing is tried has no event.
    await Bun.sleep(20);
    expect(first.attempts).toHaveLength(2);
  });
});

describe.skipIf(!nginx)("behind an nginx that refuses upgrades", () => {
  let push: PushApp;
  let proxy: RefusingProxy;
  let port: number;

  beforeEach(async () => {
    port = freePort();
    push = await startPushApp({ "push.accept-client-message": true });
    proxy = await startRefusingNginx({ executable: nginx ?? "", upstream: `127.0.0.1:${push.port}`, port });
  });

  afterEach(async () => {
    await proxy.stop();
    await push.stop();
  });

  test("the client uses an event stream, returns to a WebSocket when it can, and gets every message once", async () => {
    const opened: PushOpened[] = [];
    const joined: string[] = [];
    const received: number[] = [];
    const client = new SlipwayPush({
      url: `ws://127.0.0.1:${port}/ws`,
      code: () => "ann",
      channels: ["numbers"],
      minDelayMs: 10,
      upgradeRetryMs: 50,
    });
    client.on("open", (event) => opened.push(event));
    client.on("joined", (channel) => joined.push(channel));
    client.on("message", ({ data }) => received.push(Number(data)));
    client.open();
    await eventually("it is connected", () => opened.length === 1);
    expect(opened[0]).toMatchObject({ transport: "sse", userId: "ann", reconnected: false });
    client.join("later");
    await eventually("a frame of it is answered", () => joined.includes("later"));
    expect(client.send("hello")).toBe(true);
    await eventually(
      "its message arrived",
      async () => (await push.metric('slipway_push_client_messages_total{result="accepted"}')) === 1,
    );

    let published = 0;
    let isOver = false;
    const publishing = (async () => {
      // The pauses keep what the client misses while it changes the transport within `push.resume.bytes`.
      for (; !isOver; published++) {
        await push.publish({
          targetType: "channel",
          target: published % 2 ? "numbers" : "later",
          data: `${published}`,
        });
        // The rate of the publisher.
        await Bun.sleep(1);
      }
    })();
    await eventually("some have arrived", () => received.length > 20);
    await proxy.allowUpgrades();
    await eventually("it returns", () => opened.length === 2);
    expect(opened[1]).toMatchObject({ transport: "websocket", reconnected: true, recovered: true });
    const before = received.length;
    await eventually("more arrive", () => received.length > before + 20);
    isOver = true;
    await publishing;
    await eventually("all have arrived", () => received.length >= published);
    expect(received).toEqual(Array.from({ length: published }, (_, index) => index));
    client.close();
    await eventually(
      "its streams are gone",
      async () => (await push.metric("slipway_push_event_streams")) === 0,
    );
  });

  test("a refused code is reported as on a WebSocket that says why", async () => {
    const client = new SlipwayPush({ url: `ws://127.0.0.1:${port}/ws`, code: () => "bad", minDelayMs: 10 });
    client.open();
    await eventually("it stops", () => client.status.state === "closed");
    expect(client.status).toMatchObject({
      closeCode: 4001,
      reason: "The code was not accepted; get a new one.",
    });
  });

  describe.skipIf(!hasChromium)("in Chromium", () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await startBrowser();
    });
    afterAll(() => closeBrowser(browser));

    test("a plain EventSource connects again with its used code, and an event tells it that the code is refused", async () => {
      const used = new Set<string>();
      push.verify.answer = (code) => {
        if (used.has(code)) return new Response("used", { status: 401 });
        used.add(code);
        return Response.json({ userId: "ann" });
      };
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${port}/livez`);
      await page.evaluate(() => {
        const seen: string[] = [];
        const source = new EventSource("/sse?code=one");
        source.onmessage = ({ data }) => seen.push(JSON.parse(data).type);
        for (const name of ["closed", "refused"])
          source.addEventListener(name, ({ data }) => {
            const { code } = JSON.parse(data);
            seen.push(`${name} ${code}`);
          });
        Object.assign(globalThis, { seen });
      });
      const seen = () => page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
      await eventually("it is welcome", async () => (await seen()).includes("welcome"));
      await push.post("/feign/disconnect", { userId: "ann", code: 1012 });
      await eventually("it is refused", async () => (await seen()).includes("refused 40102"));
      expect(await seen()).toEqual(["welcome", "closed 1012", "refused 40102"]);
      await page.close();
    });

    test("a page of another origin uses an event stream, and returns to a WebSocket", async () => {
      const { outputs } = await Bun.build({
        entrypoints: [join(import.meta.dir, "../../client/slipway-push.ts")],
        target: "browser",
      });
      const script = await outputs[0]?.text();
      const pages = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: ({ url }) =>
          url.endsWith(".js")
            ? new Response(script, { headers: { "content-type": "text/javascript" } })
            : new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
      });
      const page = await browser.newPage();
      await page.goto(pages.url.href);
      await page.evaluate(
        async ({ url, module }) => {
          const { SlipwayPush: Client } = (await import(module)) as { SlipwayPush: typeof SlipwayPush };
          const seen = { opened: [] as string[], joined: [] as string[], messages: [] as string[] };
          Object.assign(globalThis, { seen });
          const client = new Client({ url, code: () => "ann", minDelayMs: 10, upgradeRetryMs: 50 });
          client.on("open", ({ transport, recovered }) => seen.opened.push(`${transport} ${recovered}`));
          client.on("joined", (channel) => seen.joined.push(channel));
          client.on("message", ({ data }) => seen.messages.push(data));
          client.open();
          client.on("open", () => client.join("news"));
        },
        { url: `ws://127.0.0.1:${port}/ws`, module: `${pages.url.origin}/client.js` },
      );
      const seen = () =>
        page.evaluate(() => (globalThis as unknown as { seen: Record<string, string[]> }).seen);
      await eventually("it joins", async () => (await seen()).joined?.includes("news") ?? false);
      expect((await seen()).opened).toEqual(["sse true"]);
      await push.publish({ targetType: "channel", target: "news", data: "over an event stream" });
      await eventually("it hears", async () => (await seen()).messages?.length === 1);
      await proxy.allowUpgrades();
      await eventually("it returns", async () => (await seen()).opened?.[1] === "websocket true");
      await push.publish({ targetType: "channel", target: "news", data: "over a WebSocket" });
      await eventually("it hears again", async () => (await seen()).messages?.length === 2);
      expect((await seen()).messages).toEqual(["over an event stream", "over a WebSocket"]);
      await page.close();
      await pages.stop(true);
    });
  });
});
