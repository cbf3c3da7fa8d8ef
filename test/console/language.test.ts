import { expect, test } from "bun:test";
import { adminPassword } from "../support/api-server.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });

test("the sign-in page has the language of the browser", async () => {
  const context = await browser.newContext({ ...wide, locale: "zh-CN" });
  const page = await context.newPage();
  await page.goto(server.url);
  await page.getByRole("button", { name: "登录", exact: true }).waitFor();
  expect(await page.locator("html").getAttribute("lang")).toBe("zh-CN");
  await context.close();
});

test("the language of the account holds in every browser, and null returns to that of the browser", async () => {
  const first = await openConsole(browser, server.url, { ...wide, locale: "en-US" });
  await first.go("/account");
  await first.page.getByLabel("Language").selectOption({ label: "简体中文" });
  await first.page.getByRole("heading", { level: 1, name: "我的账户" }).waitFor();
  expect(await first.page.locator("html").getAttribute("lang")).toBe("zh-CN");

  // A browser without the cookie learns the language with the user.
  const context = await browser.newContext({ ...wide, locale: "en-US" });
  const page = await context.newPage();
  await page.goto(server.url);
  await page.getByLabel("Username").fill("admin");
  await page.getByRole("textbox", { name: /^Password/ }).fill(adminPassword);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.locator('html[lang="zh-CN"]').waitFor();
  await page.goto(`${server.url}/account`);
  await page.getByRole("heading", { level: 1, name: "我的账户" }).waitFor();
  await page.getByLabel("语言").selectOption({ label: "跟随浏览器" });
  await page.getByRole("heading", { level: 1, name: "Your account" }).waitFor();
  expect(await page.locator("html").getAttribute("lang")).toBe("en");
  await context.close();

  // The other browser still has the cookie of the earlier choice.
  await first.page.reload();
  await first.page.locator('html[lang="en"]').waitFor();
  expect(first.faults).toEqual([]);
  await first.close();
});

test("a browser that refuses the language cookie shows its own language and does not load the page for ever", async () => {
  await server.admin.expect(200, "PATCH", "/api/auth/me", { language: "zh-CN" });
  const { page, go, close } = await openConsole(browser, server.url, { ...wide, locale: "en-US" });
  await page.context().clearCookies({ name: "slipway_language" });
  await page.route("**/api/auth/me", async (route) => {
    const response = await route.fetch();
    const { "set-cookie": _, ...headers } = response.headers();
    await page.context().clearCookies({ name: "slipway_language" });
    await route.fulfill({ response, headers });
  });
  let loads = 0;
  page.on("domcontentloaded", () => loads++);
  await go("/account");
  await page.getByRole("heading", { level: 1, name: "Your account" }).waitFor();
  await page.waitForLoadState("networkidle");
  expect(loads).toBeLessThanOrEqual(2);
  await server.admin.expect(200, "PATCH", "/api/auth/me", { language: null });
  await close();
});

test("the API stores the language of the caller and refuses an unknown one", async () => {
  const me = await server.admin.expect<{ language: string | null }>(200, "PATCH", "/api/auth/me", {
    language: "zh-CN",
  });
  expect(me.language).toBe("zh-CN");
  expect(await server.admin.expect<{ language: string }>(200, "GET", "/api/auth/me")).toMatchObject({
    language: "zh-CN",
  });
  const refused = await server.admin.request("PATCH", "/api/auth/me", { language: "xx" });
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("language")]);
  await server.admin.expect(200, "PATCH", "/api/auth/me", { language: null });
});
