import { afterAll, expect, test } from "bun:test";
import { adminPassword, userPassword } from "../support/api-server.ts";
import { violations } from "../support/axe.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";
import { makeRepository } from "../support/git-repository.ts";

const { browser, server } = await setUpConsole();
const repository = await makeRepository();
await repository.push({ "readme.md": "hello" }, { message: "Open the shop" });
afterAll(() => repository.remove());
const shop = await server.project(repository.url, { deploy: "exit 1" }, { name: "web shop" });
const { id: failed } = await server.run(shop);
await server.reach(failed, "failed");
const ledger = await server.project(repository.url, { deploy: "true" }, { name: "ledger" });
const { id: done } = await server.run(ledger);
await server.reach(done, "success");

test("activity is filtered by a text with suggestions, which the address and the fields follow", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url, wide);
  await go("/activity");
  const field = page.getByRole("combobox", { name: "Filter", exact: true });
  expect(await page.getByRole("textbox", { name: "Search", exact: true }).count()).toBe(0);
  await field.fill("st");
  await page.getByRole("option", { name: "status:" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("option", { name: "status:failed" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.type("fai");
  await page.getByRole("option", { name: "status:queued" }).waitFor({ state: "detached" });
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/activity?outcome=failed");
  await page.getByRole("listitem").filter({ hasText: "ledger" }).waitFor({ state: "detached" });
  expect(await field.inputValue()).toBe("status:failed");
  await page.reload();
  await page.getByRole("listitem").filter({ hasText: "web shop" }).waitFor();
  expect(await page.getByRole("listitem").filter({ hasText: "ledger" }).count()).toBe(0);
  expect(page.url()).toEndWith("/activity?outcome=failed");

  await field.fill('status:failed project:"web shop" main');
  await field.press("Enter");
  await page.waitForURL(`**/activity?outcome=failed&projectId=${shop}&search=main`);
  await page.getByRole("listitem").filter({ hasText: "web shop" }).waitFor();
  await page.getByRole("button", { name: "Filters (3 active)" }).click();
  expect(await page.getByRole("textbox", { name: "Search", exact: true }).inputValue()).toBe("main");
  expect(await violations(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(391);

  for (const [text, message] of [
    ["colour:red", "colour is not a filter. Filters: show:, status:,"],
    ["status:odd", "status has no value “odd”. Values: queued,"],
    ["project:nobody", "No project has the name nobody."],
    ["main next", "next is a second search."],
  ] as const) {
    await field.fill(text);
    await field.press("Enter");
    await page.getByText(message, { exact: false }).waitFor();
    expect(page.url()).toEndWith(`?outcome=failed&projectId=${shop}&search=main`);
  }
  await page.goBack();
  await eventually("the text follows", async () => (await field.inputValue()) === "status:failed");
  expect(faults).toEqual([]);
  await close();
});

test("two users of one browser have filters of their own", async () => {
  await server.admin.expect(201, "POST", "/api/users", {
    username: "ann",
    password: userPassword,
    role: "admin",
  });
  const { page, faults, go, close } = await openConsole(browser, server.url, wide);
  const as = async (username: string, password: string) => {
    await page.context().request.post(`${server.url}/api/auth/login`, {
      data: { username, password, cookie: true },
      headers: { "x-slipway-csrf": "1" },
    });
    await go("/activity");
    await page.locator(".me", { hasText: username }).waitFor();
  };
  const field = page.getByRole("combobox", { name: "Filter", exact: true });
  const filter = async (text: string) => {
    await field.fill(text);
    await field.press("Enter");
  };
  await as("admin", adminPassword);
  await filter("status:rejected");
  await page.waitForURL("**/activity?outcome=rejected");
  await as("ann", userPassword);
  expect(await field.inputValue()).toBe("");
  await filter("status:ignored");
  await page.waitForURL("**/activity?outcome=ignored");
  await as("admin", adminPassword);
  await page.waitForURL("**/activity?outcome=rejected");
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.waitForURL("**/activity");
  await as("ann", userPassword);
  await page.waitForURL("**/activity?outcome=ignored");
  expect(faults).toEqual([]);
  await close();
});

test("the last filter of a list comes back for its user, until it is cleared", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url, wide);
  await go("/activity");
  const field = page.getByRole("combobox", { name: "Filter", exact: true });
  await field.fill("status:rejected next");
  await field.press("Enter");
  await page.waitForURL("**/activity?outcome=rejected&search=next");
  await go("/activity?outcome=ignored");
  await eventually("a link is followed", async () => (await field.inputValue()) === "status:ignored");
  await go("/activity");
  await page.waitForURL("**/activity?outcome=rejected&search=next");
  const keys = await page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes("filters")));
  expect(keys).toEqual(["slipway-filters-activity-admin"]);
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.waitForURL("**/activity");
  await page.reload();
  await page.getByRole("listitem").filter({ hasText: "ledger" }).waitFor();
  expect(await field.inputValue()).toBe("");
  expect(faults).toEqual([]);
  await close();
});
