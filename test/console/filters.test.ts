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

test("tasks are filtered by a text with suggestions, which the address and the fields follow", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url, wide);
  await go("/tasks");
  const field = page.getByRole("combobox", { name: "Filter", exact: true });
  expect(await page.getByLabel("Branch or tag").count()).toBe(0);
  await field.fill("st");
  await page.getByRole("option", { name: "state:" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("option", { name: "state:failed" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.type("fai");
  await page.getByRole("option", { name: "state:queued" }).waitFor({ state: "detached" });
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/tasks?state=failed");
  await page.getByRole("row").filter({ hasText: "ledger" }).waitFor({ state: "detached" });
  expect(await field.inputValue()).toBe("state:failed");

  await field.fill('state:failed project:"web shop" main');
  await field.press("Enter");
  await page.waitForURL(`**/tasks?state=failed&projectId=${shop}&ref=main`);
  await page.getByRole("row").filter({ hasText: "web shop" }).waitFor();
  await page.getByRole("button", { name: "Filters (3 active)" }).click();
  expect(await page.getByLabel("Branch or tag").inputValue()).toBe("main");
  expect(await violations(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(391);

  for (const [text, message] of [
    ["colour:red", "colour is not a filter. Filters: state:, project:,"],
    ["state:odd", "state can't be odd. Values: queued,"],
    ["project:nobody", "No project has the name nobody."],
    ["main next", "next is a second branch."],
  ] as const) {
    await field.fill(text);
    await field.press("Enter");
    await page.getByText(message, { exact: false }).waitFor();
    expect(page.url()).toEndWith(`?state=failed&projectId=${shop}&ref=main`);
  }
  await page.goBack();
  await eventually("the text follows", async () => (await field.inputValue()) === "state:failed");
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
    await go("/deliveries");
    await page.locator(".me", { hasText: username }).waitFor();
  };
  const field = page.getByRole("combobox", { name: "Filter", exact: true });
  const filter = async (text: string) => {
    await field.fill(text);
    await field.press("Enter");
  };
  await as("admin", adminPassword);
  await filter("outcome:rejected");
  await page.waitForURL("**/deliveries?status=rejected");
  await as("ann", userPassword);
  expect(await field.inputValue()).toBe("");
  await filter("outcome:ignored");
  await page.waitForURL("**/deliveries?status=ignored");
  await as("admin", adminPassword);
  await page.waitForURL("**/deliveries?status=rejected");
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.waitForURL("**/deliveries");
  await as("ann", userPassword);
  await page.waitForURL("**/deliveries?status=ignored");
  expect(faults).toEqual([]);
  await close();
});

test("the last filter of a list comes back for its user, until it is cleared", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url, wide);
  await go("/deliveries");
  const field = page.getByRole("combobox", { name: "Filter", exact: true });
  await field.fill("outcome:rejected next");
  await field.press("Enter");
  await page.waitForURL("**/deliveries?status=rejected&search=next");
  await go("/tasks");
  await page.getByRole("row").filter({ hasText: "ledger" }).waitFor();
  await go("/deliveries?status=ignored");
  await eventually("a link is followed", async () => (await field.inputValue()) === "outcome:ignored");
  await go("/deliveries");
  await page.waitForURL("**/deliveries?status=rejected&search=next");
  const keys = await page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes("filters")));
  expect(keys).toEqual(["slipway-filters-deliveries-admin"]);
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.waitForURL("**/deliveries");
  await page.reload();
  await page.getByText("Nothing was delivered yet").waitFor();
  expect(await field.inputValue()).toBe("");
  expect(faults).toEqual([]);
  await close();
});
