import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { violations } from "../support/axe.ts";
import { inScheme, openConsole, saveForms } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";

const { browser, server } = await setUpConsole();
const { admin } = server;
const repository = await makeRepository();
const first = await repository.push({ "readme.md": "hello" }, { message: "Open the shop" });
afterAll(() => repository.remove());

const laptop = { viewport: { width: 1440, height: 900 } };
const start = { web: { command: "exec sleep 300", port: "none" } };
const projectId = await server.project(
  repository.url,
  {},
  { name: "shop", pipeline: { build: [{ script: "echo built" }], start }, env: { LOG: "info" } },
);

interface Environment {
  name: string;
  projectId: number;
  release: { commit: string; promotedFrom: number | null } | null;
}

async function environment(name: string): Promise<Environment> {
  const path = `/api/projects/${projectId}/environments`;
  const { items } = await admin.expect<{ items: Environment[] }>(200, "GET", path);
  const found = items.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no environment ${name}`);
  return found;
}

const listed = (page: Page, name: string) =>
  page
    .getByRole("list", { name: "Environments" })
    .getByRole("listitem")
    .filter({ has: page.getByRole("link", { name, exact: true }) });

/** It fits laptop and phone, and can be read in both schemes. */
async function looksRight(page: Page, picture: string): Promise<void> {
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const scheme of ["light", "dark"] as const) {
      await inScheme(page, scheme);
      expect(await violations(page, scheme === "dark" ? ["color-contrast"] : [])).toEqual([]);
    }
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow, `${picture} at ${width} px`).toBeLessThanOrEqual(0);
  }
  await inScheme(page, "light");
  await page.setViewportSize(laptop.viewport);
}

test("two environments are made in the settings, and are shown where nothing serves yet", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url, laptop);
  await go(`/projects/${projectId}/settings/environments`);
  const row = (index: number) => page.locator(`[data-row="${index}"]`);
  const add = page.getByRole("button", { name: "Add an environment" });
  await add.click();
  await row(0).getByRole("textbox", { name: "Name", exact: true }).fill("staging");
  await row(0).getByLabel("Branches and tags").fill("main");
  await page.keyboard.press("Enter");
  await row(0).getByLabel("Variables").fill("LOG=debug\nPLACE = a=b");
  await row(0).getByLabel("Domains").fill("shop.example.com=staging.shop.example.com");
  await row(0).getByLabel("Services with other limits").fill("web");
  await page.keyboard.press("Enter");
  await row(0).getByLabel("Memory in MB of web").fill("256");
  await row(0).getByLabel("Public address").fill("https://staging.shop.example.com");
  await add.click();
  await row(1).getByRole("textbox", { name: "Name", exact: true }).fill("production");
  await row(1).getByLabel("Variables").fill("PLACE=production\nREGION=north");
  // The source is offered before it is saved, and takes the place of the refs.
  await row(1).getByRole("combobox", { name: "Releases come from" }).click();
  await page.getByRole("option", { name: "staging, by promotion" }).click();
  expect(await row(1).getByLabel("Branches and tags").count()).toBe(0);
  await row(1).getByRole("combobox", { name: "Approval before a deploy" }).click();
  await page.getByRole("option", { name: "a manager must approve the deploy" }).click();
  await row(1).getByLabel("Nobody may approve their own push or change").check();
  await row(1).getByLabel("Minutes until a request expires").fill("60");
  await looksRight(page, "settings");
  await saveForms(page);
  await page.getByText("Environments: staging, production").waitFor();
  const { environments } = await admin.expect<{ environments: object[] }>(
    200,
    "GET",
    `/api/projects/${projectId}`,
  );
  expect(environments).toMatchObject([
    {
      name: "staging",
      refs: ["main"],
      from: null,
      env: { LOG: "debug", PLACE: "a=b" },
      domains: { "shop.example.com": "staging.shop.example.com" },
      limits: { web: { memoryMb: 256, cpus: null, processes: null } },
      ...{ deploy: null, publicUrl: "https://staging.shop.example.com" },
    },
    {
      ...{ name: "production", refs: [], from: "staging", env: { PLACE: "production", REGION: "north" } },
      deploy: { approval: "required", notByPusher: true, expiresAfterMinutes: 60, branches: [] },
    },
  ]);
  // As in the project again: what is promoted below needs no approval.
  await row(1).getByRole("combobox", { name: "Approval before a deploy" }).click();
  await page.getByRole("option", { name: "as in the project" }).click();
  await saveForms(page);

  await go(`/projects/${projectId}`);
  for (const name of ["staging", "production"]) {
    await listed(page, name).getByText("Nothing serves here yet").waitFor();
    expect(await listed(page, name).getByRole("button").count()).toBe(0);
  }
  // Not that of the project itself, where nothing will ever serve.
  expect(await page.getByText("Nothing serves yet", { exact: true }).count()).toBe(0);
  await looksRight(page, "overview-empty");
  await go("/");
  const rows = page.getByRole("table", { name: "Projects" }).locator("tbody tr");
  await rows.getByRole("link", { name: "production –" }).waitFor();
  // Its environments are no projects of the list.
  expect(await rows.count()).toBe(1);
  expect(faults).toEqual([]);
  await close();
});

test("a name that is refused is said at its row", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url, laptop);
  await go(`/projects/${projectId}/settings/environments`);
  await page.getByRole("button", { name: "Add an environment" }).click();
  await page.locator('[data-row="2"]').getByRole("textbox", { name: "Name", exact: true }).fill("A b");
  await page.getByRole("region", { name: "Unsaved changes" }).getByRole("button", { name: "Save" }).click();
  await page.locator('[data-row="2"]').getByText("Name must have 1 to 32 small letters").waitFor();
  await page.getByRole("button", { name: "Remove the environment A b" }).click();
  await page.getByRole("region", { name: "Unsaved changes" }).waitFor({ state: "detached" });
  expect(faults).toEqual([]);
  await close();
});

test("what serves in one environment is promoted to the next one, after its difference was shown", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url, laptop);
  const built = await server.reach((await server.run(projectId)).id, "success");
  const staging = await environment("staging");
  expect(built.projectId).toBe(staging.projectId);
  const dialog = page.getByRole("dialog");
  const promote = listed(page, "production").getByRole("button", { name: "Promote to production" });

  // The page follows: nobody loads it again.
  await go(`/projects/${projectId}`);
  await listed(page, "staging")
    .getByRole("link", { name: first.slice(0, 7) })
    .waitFor();
  await listed(page, "staging").locator('.state[data-state="serving"]').waitFor();
  expect(await listed(page, "staging").getByRole("button").count()).toBe(0);
  await promote.click();
  await dialog.getByText("the first release in production").waitFor();
  await dialog.getByText("Nothing is built.", { exact: false }).waitFor();
  await dialog.getByRole("button", { name: "Promote to production" }).click();
  await page.waitForURL("**/tasks/*");
  await page.locator('.task-facts .state[data-state="success"]').waitFor();
  await page.locator(".task-facts").getByText("promoted from staging by admin").waitFor();
  expect((await environment("production")).release).toMatchObject({ commit: first, promotedFrom: built.id });

  // The same release serves in both: there is nothing to promote.
  await go(`/projects/${projectId}`);
  await listed(page, "production")
    .getByRole("link", { name: first.slice(0, 7) })
    .waitFor();
  await promote.waitFor({ state: "detached" });

  await admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
    env: { LOG: "info", CURRENCY: "EUR" },
    pipeline: { start: { web: { ...start.web, command: "exec sleep 400" } } },
  });
  const second = await repository.push({}, { message: `Sell ${"un".repeat(40)}expected things` });
  await server.reach((await server.run(projectId)).id, "success");
  await go(`/projects/${projectId}`);
  await listed(page, "production").getByText("1 release behind staging", { exact: false }).waitFor();
  const changes = page.getByRole("list", { name: "Last changes" }).getByRole("listitem");
  await changes.nth(2).waitFor();
  expect(await changes.locator('.activity-facts > a[href^="/projects/"]').allInnerTexts()).toEqual([
    "shop/staging",
    "shop/production",
    "shop/staging",
  ]);
  await changes.nth(1).hover();
  await changes.nth(1).getByText("promoted from staging by admin").waitFor();
  await looksRight(page, "overview");
  await promote.click();
  await dialog.getByText("replaces in production:").waitFor();
  expect(await dialog.locator(".commit-line").allInnerTexts()).toEqual([
    expect.stringContaining(second.slice(0, 7)),
    expect.stringMatching(new RegExp(`${first.slice(0, 7)}\\s+Open the shop$`)),
  ]);
  await dialog.getByText(second.slice(0, 7)).waitFor();
  await dialog.getByRole("columnheader", { name: "In production now" }).waitFor();
  const differences = (await dialog.locator("tbody tr").allInnerTexts()).map((each) =>
    each.split("\t").map((cell) => cell.trim()),
  );
  expect(differences).toEqual([
    ["services.web.command", "exec sleep 400", "exec sleep 300"],
    ["REGION", "not set", "set"],
  ]);
  await looksRight(page, "dialog");
  await page.setViewportSize({ width: 390, height: 900 });
  const { x = 0, width = 0 } = (await dialog.boundingBox()) ?? {};
  for (const cell of await dialog.locator("th, td").all()) {
    const box = await cell.boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(x + width);
  }
  await page.setViewportSize(laptop.viewport);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });

  await go("/");
  const row = page.getByRole("table", { name: "Projects" }).locator("tbody tr");
  for (const [name, commit] of [
    ["staging", second],
    ["production", first],
  ] as const)
    await row.getByRole("link", { name: `${name} ${commit.slice(0, 7)}` }).waitFor();
  await looksRight(page, "home");
  await row.getByRole("link", { name: /^production/ }).click();
  const title = page.getByRole("heading", { level: 1, name: "shop / production" });
  await title.waitFor();
  // The way to the project and to the other environment, and what can be promoted here.
  await page.getByRole("button", { name: "Promote to production" }).waitFor();
  await page.getByRole("navigation", { name: "Environments" }).getByRole("link", { name: "staging" }).click();
  await page.getByRole("heading", { level: 1, name: "shop / staging" }).waitFor();
  await page.getByRole("button", { name: "Promote to production" }).waitFor();
  await page.goBack();
  await title.getByRole("link", { name: "shop" }).click();
  await page.waitForURL(`**/projects/${projectId}`);
  await page.goBack();
  await title.waitFor();
  await looksRight(page, "environment");
  const own = page.getByRole("list", { name: "Last changes" }).getByRole("listitem");
  expect(await own.locator('.activity-facts > a[href^="/projects/"]').allInnerTexts()).toEqual([
    "shop/production",
  ]);
  expect(faults).toEqual([]);
  await close();
}, 180_000);

test("the settings of an environment have what is its own, and lead to those of its project", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url, laptop);
  const { projectId: id } = await environment("production");
  await go(`/projects/${id}/settings`);
  const note = page.getByText("This is an environment of shop.", { exact: false });
  await note.waitFor();
  await looksRight(page, "own-settings");
  const variables = page.getByRole("table", { name: "Variables" }).getByRole("row");
  expect(
    (await variables.allInnerTexts()).map((row) => row.split("\t").map((cell) => cell.trim())).sort(),
  ).toEqual([
    ["CURRENCY", "EUR", "Change it in shop"],
    ["LOG", "info", "Change it in shop"],
    ["PLACE", "production", "Change it in production"],
    ["REGION", "north", "Change it in production"],
  ]);
  await note.getByRole("link", { name: "shop", exact: true }).click();
  await page.waitForURL(`**/projects/${projectId}/settings/environments`);
  await page.locator('[data-row="1"]').waitFor();
  expect(faults).toEqual([]);
  await close();
});
