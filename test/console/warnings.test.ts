import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { userPassword } from "../support/api-server.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";

const { browser, server } = await setUpConsole();

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

const warning = (page: Page) => page.getByRole("note", { name: "Webhooks without a secret" });

test("every page names webhooks without a secret to users who may view them, until a secret is set", async () => {
  const [shop, ledger] = [await project("shop"), await project("ledger", { secret: "long enough" })];
  await user("ann", shop, "view");
  await user("bo", ledger, "manage");
  const ann = await openConsole(browser, server.url, wide, { username: "ann", password: userPassword });
  await ann.go("/");
  await warning(ann.page).getByRole("link", { name: "shop" }).waitFor();
  await ann.close();
  const bo = await openConsole(browser, server.url, wide, { username: "bo", password: userPassword });
  await bo.go("/projects");
  await bo.page.getByRole("link", { name: "ledger" }).first().waitFor();
  expect(await warning(bo.page).count()).toBe(0);
  await bo.close();

  const { page, go, faults, close } = await openConsole(browser, server.url);
  const pages = ["/", "/projects", `/projects/${ledger}/settings`, "/tasks", "/deliveries", "/push"];
  for (const path of [
    ...pages,
    "/users",
    "/groups",
    "/runners",
    "/tokens",
    "/audit",
    "/account",
    "/nowhere",
  ]) {
    await go(path);
    await warning(page).getByText("A webhook has no secret").waitFor();
  }
  await warning(page).getByRole("link", { name: "shop" }).click();
  await page.waitForURL(`**/projects/${shop}/webhook#secret`);
  await eventually("the panel is in view", async () => {
    const top = await page.locator("#secret").evaluate((panel) => panel.getBoundingClientRect().top);
    return Math.abs(top) < wide.viewport.height;
  });
  await page.getByRole("button", { name: "Generate a secret" }).click();
  await page.getByRole("button", { name: "Save the secret" }).click();
  await warning(page).waitFor({ state: "detached" });
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
  await page.waitForURL(`**/projects/${id}/webhook#address`);
  await page.getByText("Only this machine can reach this address").waitFor();
  await follow("Patterns for tags are set");
  await page.waitForURL(`**/projects/${id}/webhook#rules`);
  // The webhook page itself lists each warning once, with a link to its form.
  const listed = page.getByRole("note").getByRole("listitem");
  await listed.filter({ hasText: "Patterns for tags are set" }).getByRole("link").click();
  expect(await page.getByText("Patterns for tags are set").count()).toBe(1);
  await close();
});

test("many such webhooks are counted, a few are named, with one request", async () => {
  for (let at = 0; at < 6; at++) await project(`open ${at}`);
  const { page, go, close } = await openConsole(browser, server.url);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await go("/tokens");
  await warning(page).getByText("6 webhooks have no secret").waitFor();
  expect(await warning(page).getByRole("link").count()).toBe(3);
  await warning(page).getByText("and 3 more.").waitFor();
  expect(asked.filter((path) => /webhook|notices/.test(path))).toEqual(["/api/notices"]);
  await close();
});
