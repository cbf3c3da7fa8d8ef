import { afterAll, describe, expect, test } from "bun:test";
import { becomesLive, openConsole } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { freePort } from "../support/free-port.ts";
import { startRefusingNginx } from "../support/reverse-proxies.ts";
import { serviceUrl } from "../support/services.ts";

const nginx = await serviceUrl("nginx");

describe.skipIf(!nginx)("behind a proxy that refuses upgrades", async () => {
  const port = freePort();
  const address = `http://127.0.0.1:${port}`;
  const { browser, server } = await setUpConsole({ "server.baseUrl": address });
  const upstream = server.url.replace("http://", "");
  const proxy = await startRefusingNginx({ executable: nginx ?? "", upstream, port });
  afterAll(() => proxy.stop());
  const shopId = await server.project("https://git.example.com/shop.git", {}, { name: "shop" });
  const hook = await server.admin.expect<{ url: string }>(200, "PUT", `/api/projects/${shopId}/webhook`, {
    enabled: true,
  });
  const deliver = () => fetch(hook.url.replace(address, server.url), { method: "POST", body: "{}" });

  test("pages are live by an event stream, and show what happened before a late first connection", async () => {
    await deliver();
    const { page, go, close, faults } = await openConsole(browser, address);
    const rows = page.locator(".activity-row");
    // After this fetch nothing is polled before the connection opens, and then nothing at all. It may be faster than the connection.
    const listed = page.waitForResponse((response) => response.url().includes("/api/activity"));
    await page.route("**/sse?code=*", async (route) => {
      await listed;
      await deliver();
      await route.continue();
    });
    await go(`/projects/${shopId}/activity?show=all`);
    await becomesLive(page);
    await rows.nth(1).waitFor();
    await deliver();
    await rows.nth(2).waitFor();
    expect(faults).toEqual([]);
    await close();
  });
});
