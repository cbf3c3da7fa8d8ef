import { afterAll, beforeEach, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { type ConsolePage, openConsole, saveBar, saveForms } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";

let path: string;
let count = 0;

const { browser, server } = await setUpConsole({ "runner.enabled": false });
const view = await openConsole(browser, server.url);
afterAll(() => expect(view.faults).toEqual([]));

beforeEach(async () => {
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: `shop ${++count}`,
    git: { url: "https://git.example.com/shop.git" },
  });
  path = `/projects/${id}`;
});

const saved = <T = Record<string, unknown>>(of = "") =>
  server.admin.expect<T>(200, "GET", `/api${path}${of}`);
const question = (page: Page) => page.getByRole("dialog").filter({ hasText: "Leave without saving?" });
const conflict = (page: Page) => page.getByRole("alert").filter({ hasText: "Another user saved this first" });
const build = (page: Page) => page.getByRole("textbox", { name: "build", exact: true });

const section = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Settings" }).getByRole("link", { name, exact: true }).click();

async function stay(page: Page): Promise<void> {
  await question(page).getByRole("button", { name: "Stay on this page" }).click();
  await question(page).waitFor({ state: "detached" });
}

test("a tab, a link, the Back button and signing out ask before unsaved changes are lost", async () => {
  const { page, go } = view;
  await go(path);
  await page.getByRole("tab", { name: "Settings" }).click();
  await section(page, "Pipeline");
  await build(page).fill("make everything");
  const ways: (() => Promise<unknown>)[] = [
    () => page.getByRole("tab", { name: "Releases" }).click(),
    () => section(page, "Variables and secrets"),
    () => page.locator(".side").getByRole("link", { name: "Activity" }).click(),
    () => page.goBack(),
    async () => {
      await page.locator(".side .me").click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
    },
  ];
  for (const leave of ways) {
    await leave();
    await question(page).waitFor();
    await stay(page);
    expect(new URL(page.url()).pathname).toBe(`${path}/settings/pipeline`);
    expect(await build(page).inputValue()).toBe("make everything");
  }
  await page.goBack();
  await question(page).getByRole("button", { name: "Leave without saving" }).click();
  await page.getByLabel("Clone URL").waitFor();
  expect(new URL(page.url()).pathname).toBe(`${path}/settings`);
  await page.goForward();
  await build(page).waitFor();
  expect(await build(page).inputValue()).toBe("");
});

test("a reload asks with the browser's own dialog, and only while there are unsaved changes", async () => {
  const { page, go } = view;
  await go(`${path}/settings/pipeline`);
  const asked: string[] = [];
  const dismiss = (dialog: { type(): string; dismiss(): Promise<void> }) => {
    asked.push(dialog.type());
    dialog.dismiss().catch(() => {});
  };
  page.on("dialog", dismiss);
  await build(page).fill("make");
  await page.evaluate(() => void setTimeout(() => location.reload()));
  await eventually("the browser asks", () => asked.length > 0);
  expect(asked).toEqual(["beforeunload"]);
  expect(await build(page).inputValue()).toBe("make");
  await saveForms(page);
  await page.reload();
  await build(page).waitFor();
  expect([asked.length, await build(page).inputValue()]).toEqual([1, "make"]);
  page.off("dialog", dismiss);
});

test("there is no question after a change was undone, discarded or saved", async () => {
  const { page, go } = view;
  await go(`${path}/settings/pipeline`);
  await build(page).fill("make");
  await build(page).fill("");
  await page.getByRole("tab", { name: "Overview" }).click();
  await page.getByText("Nothing has run yet").waitFor();
  await page.getByRole("tab", { name: "Settings" }).click();
  await section(page, "Pipeline");
  await build(page).fill("make");
  await saveBar(page).getByRole("button", { name: "Discard" }).click();
  await page.getByRole("tab", { name: "Overview" }).click();
  await page.getByText("Nothing has run yet").waitFor();
  expect(await question(page).count()).toBe(0);
});

test("every other form asks too: secrets, keys, members, passwords, dialogs, and secrets that are shown once", async () => {
  const { page, go } = view;
  const forms: [string, (page: Page) => Promise<unknown>][] = [
    [`${path}/settings/variables`, (at) => at.locator("input[type=password]").fill("hush")],
    [`${path}/settings/notifications`, (at) => at.locator("input[type=password]").first().fill("hush")],
    [`${path}/settings/access`, (at) => at.getByPlaceholder("username").fill("ann")],
    [`${path}/settings/variables`, (at) => at.getByRole("button", { name: "Add a variable" }).click()],
    [
      `${path}/settings/rules`,
      async (at) => {
        await at.getByRole("button", { name: "Generate a secret" }).click();
        await at.getByText("Copy the secret to your Git host now").waitFor();
      },
    ],
    [`${path}/settings/rules`, (at) => at.getByLabel("Skip keyword", { exact: true }).fill("[no]")],
    ["/account", (at) => at.locator("input[type=password]").last().fill("hush")],
  ];
  for (const [address, fill] of forms) {
    await go(address);
    await fill(page);
    await page.locator(".side").getByRole("link", { name: "System" }).click();
    await question(page).getByRole("button", { name: "Leave without saving" }).click();
    await page.getByRole("heading", { name: "System" }).waitFor();
  }
  await page.locator(".side").getByRole("link", { name: "Account" }).click();
  await page.getByRole("navigation", { name: "Account" }).getByRole("link", { name: "Tokens" }).click();
  await page.getByRole("button", { name: "Create a token" }).click();
  const dialog = page.getByRole("dialog").filter({ hasText: "Create a token" });
  await dialog.getByLabel("Name").fill("nightly");
  await page.keyboard.press("Escape");
  await page.mouse.click(5, 5);
  await page.goBack();
  await question(page).waitFor();
  await stay(page);
  expect(await dialog.getByLabel("Name").inputValue()).toBe("nightly");
  await dialog.getByRole("button", { name: "Create the token" }).click();
  const shownOnce = page.getByRole("dialog").filter({ hasText: "Your new token" });
  await shownOnce.waitFor();
  await page.goBack();
  await question(page).waitFor();
  await stay(page);
  await shownOnce.getByRole("button", { name: "I've copied it" }).click();
  await page.locator(".side").getByRole("link", { name: "People" }).click();
  await page.getByRole("heading", { name: "Users" }).waitFor();
});

/** Two tabs of one form; the first saves, then the second tries to. */
async function race(
  address: string,
  edit: (page: Page, text: string) => Promise<unknown>,
  done: string,
): Promise<{ second: ConsolePage }> {
  const first = await openConsole(browser, server.url);
  const second = await openConsole(browser, server.url);
  await first.go(address);
  await second.go(address);
  await edit(first.page, "first");
  await edit(second.page, "second");
  await saveForms(first.page);
  await first.page.getByText(done, { exact: true }).first().waitFor();
  await saveBar(second.page).getByRole("button", { name: "Save" }).click();
  await conflict(second.page).waitFor();
  expect(await second.page.getByText(done, { exact: true }).count()).toBe(0);
  await first.close();
  return { second };
}

test("when two tabs change the same script, the second shows a conflict and may reload or overwrite", async () => {
  const script = async () => (await saved<{ stages: { build: { script: string } } }>()).stages.build.script;
  const edit = (page: Page, text: string) => build(page).fill(text);
  const { second } = await race(`${path}/settings/pipeline`, edit, "Saved.");
  const { page } = second;
  expect(await script()).toBe("first");
  await conflict(page).getByText("Steps of build is now first").waitFor();
  expect(await build(page).inputValue()).toBe("second");
  await conflict(page).getByRole("button", { name: "Overwrite with my changes" }).click();
  await page.getByText("Saved.", { exact: true }).waitFor();
  expect(await script()).toBe("second");
  await conflict(page).waitFor({ state: "detached" });

  await build(page).fill("third");
  await server.admin.expect(200, "PATCH", `/api${path}`, { stages: { build: { script: "theirs" } } });
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await conflict(page).getByRole("button", { name: "Use the saved values" }).click();
  await page.waitForFunction(() =>
    [...document.querySelectorAll("textarea")].some(({ value }) => value === "theirs"),
  );
  expect(await script()).toBe("theirs");
  await second.close();
});

test("lists and the rules of the webhook are not overwritten either", async () => {
  const addVariable = async (page: Page, text: string) => {
    await page.getByRole("button", { name: "Add a variable" }).click();
    await page.getByPlaceholder("NODE_ENV").last().fill(text.toUpperCase());
  };
  const { second } = await race(`${path}/settings/variables`, addVariable, "Saved.");
  expect(await saved()).toMatchObject({ env: { FIRST: "" } });
  await second.close();
  const edit = (page: Page, text: string) =>
    page.getByLabel("Skip keyword", { exact: true }).fill(`[${text}]`);
  const other = await race(`${path}/settings/rules`, edit, "The rules are saved.");
  expect(await saved("/webhook")).toMatchObject({ skipCiKeyword: "[first]" });
  await other.second.close();
});

test("a secret that another user saved meanwhile is overwritten only on request", async () => {
  const { page, go } = view;
  await go(`${path}/settings/rules`);
  await page.locator("input[type=password]").fill("mine and long enough");
  await server.admin.expect(200, "PUT", `/api${path}/webhook`, { secret: "theirs and long enough" });
  await page.getByRole("button", { name: "Save the secret" }).click();
  await conflict(page).waitFor();
  await conflict(page).getByRole("button", { name: "Overwrite with my changes" }).click();
  await page.getByText("The secret is saved.", { exact: true }).waitFor();
  await page.getByText("A secret is stored, encrypted").waitFor();
});

test("changes of different fields in two tabs are both kept, without a question", async () => {
  const { page, go } = view;
  await go(`${path}/settings/pipeline`);
  await build(page).fill("make");
  await server.admin.expect(200, "PATCH", `/api${path}`, {
    stages: { deploy: { script: "cp" } },
    labels: ["linux"],
  });
  await saveForms(page);
  expect(await saved()).toMatchObject({
    stages: { build: { script: "make" }, deploy: { script: "cp" } },
    labels: ["linux"],
  });
});

test("text typed during a save is kept when the response arrives", async () => {
  const { page, go } = view;
  await go(`${path}/settings/pipeline`);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = (url: URL) => url.pathname === `/api${path}`;
  await page.route(slow, async (route) => {
    if (route.request().method() === "PATCH") await held;
    await route.continue();
  });
  await build(page).fill("make");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await build(page).fill("make install");
  release();
  await page.getByText("Saved.", { exact: true }).first().waitFor();
  await page.waitForTimeout(300);
  expect(await build(page).inputValue()).toBe("make install");
  expect(await conflict(page).count()).toBe(0);
  await page.unroute(slow);
  await saveBar(page).getByRole("button", { name: "Discard" }).click();
  expect(await build(page).inputValue()).toBe("make");
});

test("a value without a name and a duplicate name are errors at their field, and nothing is saved", async () => {
  const { page, go } = view;
  await go(`${path}/settings/variables`);
  const form = page.locator("form", { has: page.getByRole("button", { name: "Add a variable" }) });
  const names = form.getByPlaceholder("NODE_ENV");
  await form.getByRole("button", { name: "Add a variable" }).click();
  await names.and(page.locator(":focus")).waitFor();
  await form.getByLabel("Value of the variable").fill("production");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await form.getByText("Enter a name, or remove the row.").waitFor();
  expect([await page.getByText("Saved.", { exact: true }).count(), await saved()]).toMatchObject([
    0,
    { env: {} },
  ]);
  await names.fill("NODE_ENV");
  await form.getByRole("button", { name: "Add a variable" }).click();
  await names.last().fill("NODE_ENV");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await form.getByText("Another row has the same name.").waitFor();
  expect(await saved()).toMatchObject({ env: {} });
  await names.last().fill("1ST");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await form.getByText("not start with a digit").first().waitFor();
  await names.last().fill("FIRST");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.", { exact: true }).first().waitFor();
  expect(await saved()).toMatchObject({ env: { NODE_ENV: "production", FIRST: "" } });
});
