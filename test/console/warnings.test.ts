import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { userPassword } from "../support/api-server.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });

/** A project whose webhook is enabled. */
async function project(name: string, webhook: object = {}): Promise<number> {
  const git = { url: "https://git.example.com/shop.git" };
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", { name, git });
  await server.admin.expect(200, "PUT", `/api/projects/${id}/webhook`, { enabled: true, ...webhook });
  return id;
}

async function user(username: string, projectId: number, permission: "view" | "manage"): Promise<void> {
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/users", {
    username,
    password: userPassword,
  });
  await server.admin.expect(200, "PUT", `/api/projects/${projectId}/members/${id}`, { permission });
}

const warning = (page: Page, name: string) =>
  page
    .getByRole("region", { name: "Needs you" })
    .getByRole("link", { name: `The webhook of ${name} has no secret` });

test("Home and the rules name webhooks without a secret to users who may view them, until a secret is set", async () => {
  const [shop, ledger] = [await project("shop"), await project("ledger", { secret: "long enough" })];
  await user("ann", shop, "view");
  await user("bo", ledger, "manage");
  const ann = await openConsole(browser, server.url, wide, { username: "ann", password: userPassword });
  await ann.go("/");
  await warning(ann.page, "shop").waitFor();
  await ann.close();
  const bo = await openConsole(browser, server.url, wide, { username: "bo", password: userPassword });
  await bo.go("/");
  await bo.page.getByRole("link", { name: "ledger" }).first().waitFor();
  await bo.page.getByText("Nothing needs you.").waitFor();
  await bo.close();

  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go("/");
  await warning(page, "shop").click();
  await page.waitForURL(`**/projects/${shop}/settings/rules#secret`);
  await eventually("the panel is in view", async () => {
    const top = await page.locator("#secret").evaluate((panel) => panel.getBoundingClientRect().top);
    return Math.abs(top) < wide.viewport.height;
  });
  const there = page.getByText(/enabled without a secret/).first();
  await there.waitFor();
  await page.getByRole("button", { name: "Generate a secret" }).click();
  await page.getByRole("button", { name: "Save the secret" }).click();
  await there.waitFor({ state: "detached" });
  await go("/");
  await page.getByText("Nothing needs you.").waitFor();
  expect(faults).toEqual([]);
  await close();
});

test("a warning about a project leads to the form in which its cause is changed", async () => {
  const id = await project("leads", { tagFilter: ["v*"], secret: "long enough" });
  const { page, go, close } = await openConsole(browser, server.url);
  const follow = async (text: string) => {
    await go(`/projects/${id}`);
    await page.getByText(/notes about this project/).click();
    await page.locator(".note li").filter({ hasText: text }).getByRole("link").click();
  };
  await follow("server.baseUrl is not set");
  await page.waitForURL(`**/projects/${id}/settings/rules#address`);
  await page.getByText("Only this machine can reach this address").waitFor();
  await follow("Patterns for tags are set");
  await page.waitForURL(`**/projects/${id}/settings/rules#rules`);
  // The rules themselves are below the warning, so that it needs no link.
  const listed = page.getByRole("note").getByRole("listitem");
  await listed.filter({ hasText: "Patterns for tags are set" }).waitFor();
  expect(await page.getByText("Patterns for tags are set").count()).toBe(1);
  await close();
});

test("many needs are counted, six are shown, and the others follow on demand", async () => {
  for (let at = 0; at < 8; at++) await project(`open ${at}`);
  const { page, go, close } = await openConsole(browser, server.url);
  await go("/");
  const needs = page.getByRole("region", { name: "Needs you" });
  await needs.getByText("8", { exact: true }).waitFor();
  expect(await needs.getByRole("listitem").count()).toBe(6);
  await needs.getByRole("button", { name: "Show all 8" }).click();
  expect(await needs.getByRole("listitem").count()).toBe(8);
  await close();
});
