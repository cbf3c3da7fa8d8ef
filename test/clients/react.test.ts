import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway.ts";
import { serviceUrl } from "../support/services.ts";

const hasChromium = (await serviceUrl("chromium")) !== undefined;

describe.skipIf(!hasChromium)("the React hook", () => {
  let browser: Browser;
  let pages: Bun.Server<undefined>;
  let gateway: FakeGateway;

  beforeAll(async () => {
    browser = await startBrowser();
    gateway = startFakeGateway();
    const { outputs } = await Bun.build({
      entrypoints: [join(import.meta.dir, "react-page.tsx")],
      target: "browser",
    });
    const script = (await outputs[0]?.text()) ?? "";
    const html = '<!doctype html><div id="root"></div><script type="module" src="/page.js"></script>';
    const scriptType = { headers: { "content-type": "text/javascript" } };
    const htmlType = { headers: { "content-type": "text/html" } };
    pages = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) =>
        url.endsWith("/page.js") ? new Response(script, scriptType) : new Response(html, htmlType),
    });
  });
  afterAll(async () => {
    await closeBrowser(browser);
    await pages.stop(true);
    gateway.close();
  });

  test("components share one connection, join and leave their channels, and the last one closes it", async () => {
    const page = await browser.newPage();
    await page.goto(`${pages.url.origin}/?gateway=${encodeURIComponent(gateway.url)}`);
    await page.getByText("open", { exact: true }).waitFor();
    // Strict mode mounts everything twice, and still there is one handshake, with the channels of both components.
    expect(gateway.handshakes).toHaveLength(1);
    expect(gateway.handshakes[0]?.getAll("channel").sort()).toEqual(["news", "room-1"]);
    // Each component gets the messages of its own channels and targets, not those of the others.
    gateway.publish("m1", "elsewhere", "room-2");
    gateway.publish("m2", "to all");
    gateway.publish("m3", "hello", "room-1");
    await page.getByText("room-1: hello").waitFor();
    expect(await page.textContent("#messages")).toBe("room-1: hello");
    expect(await page.textContent("#direct")).toBe("to all");

    const left = gateway.received(JSON.stringify({ type: "leave", channel: "room-1" }));
    const joined = gateway.received(JSON.stringify({ type: "join", channel: "room-2" }));
    await page.click("#other");
    await Promise.all([left, joined]);
    gateway.publish("m4", "too late", "room-1");
    gateway.publish("m5", "again", "room-2");
    await page.getByText("room-1: hello, room-2: again").waitFor();
    expect(await page.textContent("#direct")).toBe("to all");

    const leftRoom = gateway.received(JSON.stringify({ type: "leave", channel: "room-2" }));
    await page.click("#leave");
    await leftRoom;
    expect(await page.textContent("#state")).toBe("open");
    await page.click("#end");
    await eventually("the connection has ended", () => gateway.connections() === 0);
    expect(gateway.handshakes).toHaveLength(1);
    await page.close();
  });
});
