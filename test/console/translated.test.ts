import { expect, test } from "bun:test";
import { userPassword } from "../support/api-server.ts";
import { violations } from "../support/axe.ts";
import { inScheme, openConsole, wide } from "../support/console-page.ts";
import { setUpScene } from "../support/console-setup.ts";

const { browser, scene } = await setUpScene();
const { server } = scene;
const chinese = await openConsole(browser, server.url, { ...wide, locale: "zh-CN" });
const phone = { viewport: { width: 390, height: 844 } };

for (const [path, heading] of [
  ["/activity", "动态"],
  ["/deliveries/2", "shop / 投递 2"],
  ["/push", "推送网关"],
  ["/users", "用户"],
  ["/groups", "群组"],
  ["/runners", "运行器"],
  ["/tokens", "API 令牌"],
  ["/audit", "审计日志"],
  ["/system", "系统"],
  ["/account", "我的账户"],
  ["/nowhere", "未找到"],
] as const)
  test(`${path} in Chinese has its heading and fits a phone`, async () => {
    const { page, go, faults } = chinese;
    await page.setViewportSize(wide.viewport);
    await go(path);
    await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    await page.locator(".rows").first().waitFor({ state: "detached" });
    // Most of the markup is the same as in English.
    if (path === "/activity" || path === "/account") expect(await violations(page)).toEqual([]);
    await page.setViewportSize(phone.viewport);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(391);
    expect(faults).toEqual([]);
  });

test("reasons and steps of a delivery are translated by code and values", async () => {
  const { page, go } = chinese;
  await page.setViewportSize(wide.viewport);
  await scene.push({ branch: "docs", message: "Write a page" });
  await go("/activity?outcome=ignored");
  const row = page
    .getByRole("listitem")
    .filter({ hasText: "分支 docs 不匹配 main, release/** 中的任何一个。" });
  await row.getByRole("link").first().click();
  await page.getByText("在此停止").waitFor();
  await page.getByText("Webhook 已启用。").waitFor();
});

test("a reason of any length is one line of a row and whole on its page, on a phone too; the fields of the filters are folded", async () => {
  const branchFilter = Array.from({ length: 40 }, (_, n) => `release/of/a/long/name/${n}/**`);
  await server.admin.expect(200, "PUT", `/api/projects/${scene.shopId}/webhook`, { branchFilter });
  await scene.push({ branch: "late-idea", message: "Try something" });
  const { page, go, close } = await openConsole(browser, server.url, { ...phone, locale: "en-US" });
  await go("/activity?show=all");
  const reason = page.locator(".reason").filter({ hasText: "The branch late-idea matches none of" }).first();
  await reason.waitFor();
  expect(await reason.getAttribute("title")).toEndWith("release/of/a/long/name/39/**.");
  await page.getByRole("listitem").filter({ has: reason }).getByRole("link").first().click();
  const whole = page.getByText(/The branch late-idea matches none of .*name\/39\/\*\*/).first();
  await whole.waitFor();
  expect(await whole.evaluate((element) => element.scrollWidth > element.clientWidth + 1)).toBe(false);
  await go("/activity?show=all");

  const search = page.getByRole("textbox", { name: "Search", exact: true });
  expect(await search.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Filters", exact: true }).click();
  await search.fill("late-idea");
  await search.press("Enter");
  await page.getByRole("button", { name: "Filters (1 active)" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await close();
});

test("the audit log shows differences and links, and nothing is cut", async () => {
  await server.admin.expect(200, "PATCH", `/api/projects/${scene.shopId}`, {
    labels: ["linux"],
    env: { API_KEY: "hunter2hunter2" },
  });
  await server.admin.expect(200, "PATCH", `/api/projects/${scene.shopId}`, { labels: [] });
  const { page, go, close } = await openConsole(browser, server.url, { ...wide, locale: "en-US" });
  await go("/audit?action=project.update");
  const row = page.getByRole("row").filter({ hasText: "project: changed" });
  await row.first().getByText("labels: linux → empty").waitFor();
  const second = row.nth(1);
  expect(await second.textContent()).toContain("labels: empty → linux");
  expect(await second.textContent()).toContain("changed: env");
  expect(await page.content()).not.toContain("hunter2hunter2");
  await second.getByRole("link", { name: "project shop" }).click();
  await page.waitForURL(`**/projects/${scene.shopId}`);
  await close();
});

test("an admin page that a user opens by its address says that it is for admins, and asks the server for nothing", async () => {
  await server.admin.expect(201, "POST", "/api/users", { username: "vera", password: userPassword });
  const { page, go, close } = await openConsole(
    browser,
    server.url,
    { ...wide, locale: "en-US" },
    { username: "vera", password: userPassword },
  );
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.status() === 403) refused.push(response.url());
  });
  for (const path of ["/users", "/runners", "/audit", "/push", "/users/"]) {
    await go(path);
    await page.getByRole("heading", { level: 1, name: "Admins only" }).waitFor();
    await page.getByText("Only admins can open it.", { exact: false }).waitFor();
  }
  expect(await violations(page)).toEqual([]);
  expect(refused).toEqual([]);
  await close();
});

test("the sign-in page names no user, and its error is readable in light and dark", async () => {
  const context = await browser.newContext({ ...wide, locale: "en-US" });
  const page = await context.newPage();
  await page.goto(server.url);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect(await page.locator("main").textContent()).not.toContain("admin");
  await page.getByLabel("Username").fill("nobody");
  await page.getByRole("textbox", { name: /^Password/ }).fill("wrong password");
  await page.getByRole("button", { name: "Sign in" }).click();
  const alert = page.getByRole("alert");
  await alert.getByText("Couldn't sign in").waitFor();
  for (const scheme of ["light", "dark"] as const) {
    await inScheme(page, scheme);
    expect(await violations(page)).toEqual([]);
    // 7:1.
    expect(await violations(page, ["color-contrast-enhanced"], "[role=alert]")).toEqual([]);
  }
  await context.close();
});

test("a page number beyond the end shows the last page", async () => {
  const { page, go, close } = await openConsole(browser, server.url, { ...wide, locale: "en-US" });
  for (const path of ["/audit", "/groups"]) {
    await go(`${path}?page=99999`);
    await page.waitForURL((url) => url.searchParams.get("page") !== "99999");
    await page.locator("tbody tr, .panel h2").first().waitFor();
  }
  await close();
});
