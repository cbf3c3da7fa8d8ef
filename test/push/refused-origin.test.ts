import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { PushStatus, SlipwayPush } from "../../client/slipway-push.ts";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { serviceUrl } from "../support/services.ts";

const hasChromium = (await serviceUrl("chromium")) !== undefined;

declare global {
  var slipwayClient: { SlipwayPush: typeof SlipwayPush };
  var push: SlipwayPush;
  var waits: number;
}

describe.skipIf(!hasChromium)("the client in a browser", () => {
  let browser: Browser;
  let client: string;
  let pages: Bun.Server<undefined>;
  let app: PushApp | undefined;

  beforeAll(async () => {
    browser = await startBrowser();
    pages = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("a page") });
    const built = await Bun.build({
      entrypoints: [join(import.meta.dir, "../../client/slipway-push.ts")],
      target: "browser",
    });
    client = (await built.outputs[0]?.text()) ?? "";
  });
  afterEach(() => app?.stop());
  afterAll(async () => {
    await closeBrowser(browser);
    await pages.stop(true);
  });

  /** A page of this origin with the client, which is opened. */
  async function openPage(origin: string, wsUrl: string): Promise<Page> {
    const page = await browser.newPage();
    await page.goto(`${origin}/page`);
    const script = `${client}\nglobalThis.slipwayClient = { SlipwayPush };`;
    await page.addScriptTag({ content: script, type: "module" });
    await page.waitForFunction(() => globalThis.slipwayClient !== undefined);
    await page.evaluate((url) => {
      globalThis.waits = 0;
      const push = new globalThis.slipwayClient.SlipwayPush({ url, code: () => "ann", minDelayMs: 20 });
      push.on("status", ({ state }) => {
        if (state === "waiting") globalThis.waits++;
      });
      globalThis.push = push;
      push.open();
    }, wsUrl);
    return page;
  }
  const statusOf = (page: Page): Promise<PushStatus> => page.evaluate(() => globalThis.push.status);

  const places = [
    { place: "of the gateway's own address", originOf: (app: PushApp) => app.url },
    { place: "of another address", originOf: () => pages.url.origin },
  ];
  const cases = places.flatMap((place) => (["http", "close"] as const).map((mode) => ({ ...place, mode })));

  test.each(cases)(
    "a page $place whose origin is refused stops with the reason, reject-mode $mode",
    async ({ originOf, mode }) => {
      app = await startPushApp({
        "push.allowed-origins": ["https://app.example.com"],
        "push.reject-mode": mode,
      });
      const page = await openPage(originOf(app), app.wsUrl);
      await page.waitForFunction(() => globalThis.push.status.state === "closed", null, { timeout: 20_000 });
      expect(await statusOf(page)).toMatchObject({
        closeCode: 4002,
        reason: expect.stringContaining("push.allowed-origins"),
      });
      await page.close();
    },
  );

  test("a page whose origin is allowed goes on trying while the gateway is full", async () => {
    app = await startPushApp({
      "push.allowed-origins": [pages.url.origin],
      "push.max-connections": 1,
    });
    const holder = new WebSocket(`${app.wsUrl}?code=bob`);
    await new Promise((resolve) => holder.addEventListener("open", resolve));
    const page = await openPage(pages.url.origin, app.wsUrl);
    await page.waitForFunction(() => globalThis.waits >= 4, null, { timeout: 20_000 });
    holder.close();
    await page.waitForFunction(() => globalThis.push.status.state === "open", null, { timeout: 20_000 });
    await page.close();
  });
});
