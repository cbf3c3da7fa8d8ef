import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { userPassword } from "../support/api-server.ts";
import { violations } from "../support/axe.ts";
import { focusedDialogField, isPainted, openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";
import { makeRepository } from "../support/git-repository.ts";

const { browser, server } = await setUpConsole();
const repository = await makeRepository();
const commit = await repository.push({ "readme.md": "hello" }, { message: "Open the shop" });
afterAll(() => repository.remove());
const scripts = { build: "printf '\\033[32mgreen\\033[0m line\\n'", deploy: "echo deployed" };
const shop = await server.project(repository.url, scripts, { name: "shop" });
const task = await server.run(shop);
await server.reach(task.id, "success");
await server.project(repository.url, {}, { name: "ledger" });

/** The second key must follow soon, so on a busy machine the two are repeated. */
async function goToActivity(page: Page): Promise<void> {
  await eventually("the keys open the activity", async () => {
    for (const key of ["g", "t"]) await page.keyboard.press(key);
    return page.waitForURL("**/activity", { timeout: 2_000 }).then(
      () => true,
      () => false,
    );
  });
}

test("Ctrl+K and / open the search; the arrows and Enter open a result", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  await go("/");
  await page.keyboard.press("Control+K");
  const field = page.getByRole("combobox", { name: "Search" });
  await field.waitFor();
  await page.keyboard.type("ledg");
  await page.getByRole("option", { name: /^Projects: ledger/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/projects/*");
  await page.getByRole("heading", { name: "ledger" }).waitFor();

  await page.keyboard.press("/");
  await field.waitFor();
  await page.keyboard.type(commit.slice(0, 8));
  await page.getByRole("option", { name: /^Commits: / }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/tasks/${task.id}`);

  await page.keyboard.press("/");
  await field.waitFor();
  await page.keyboard.type("runner");
  await page.getByRole("option", { name: "Pages: Runners" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/runners");

  await page.keyboard.press("/");
  await field.waitFor();
  await page.keyboard.type("nothing like this");
  await page.getByText("Nothing was found for").waitFor();
  await page.keyboard.press("Escape");
  await field.waitFor({ state: "detached" });
  await goToActivity(page);
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test("letters that are typed before the search is loaded arrive in its field, and open nothing else", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  const loading = Promise.withResolvers<void>();
  let isHeld = false;
  let asked = 0;
  // Before the page is opened: a key that is pressed after `page.route` may reach the page before the interception does.
  await page.route("**/*.js", async (route) => {
    if (isHeld) {
      asked++;
      await loading.promise;
    }
    await route.continue();
  });
  await go("/activity");
  isHeld = true;
  await page.keyboard.press("/");
  await eventually("the search is asked for", () => asked > 0);
  await page.keyboard.type("g runners");
  for (const key of ["Backspace", "Enter"]) await page.keyboard.press(key);
  loading.resolve();
  const field = page.getByRole("combobox", { name: "Search" });
  await field.waitFor();
  await page.keyboard.type(" of all");
  expect(await field.inputValue()).toBe("g runner of all");
  expect(new URL(page.url()).pathname).toBe("/activity");

  await page.keyboard.press("Control+K");
  await page.keyboard.press("Escape");
  await field.waitFor({ state: "detached" });
  await goToActivity(page);

  // Now the dialog is loaded, and its field has the focus before the next key.
  await page.keyboard.press("/");
  await page.keyboard.type("ledger");
  expect(await field.inputValue()).toBe("ledger");
  expect(faults).toEqual([]);
  await close();
});

test("the search offers what was opened last, the actions of the page, and the list of keys", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  const dialog = page.getByRole("dialog", { name: "Search" });
  const open = async () => {
    await page.keyboard.press("Control+K");
    await dialog.waitFor();
  };
  await go(`/projects/${shop}`);
  await page.getByRole("button", { name: "Deploy" }).waitFor();
  await go(`/tasks/${task.id}`);
  await page.getByRole("button", { name: "Run again" }).waitFor();
  await go("/runners");
  await open();
  expect(await dialog.getByRole("option").allTextContents()).toEqual([
    `Opened last: Task ${task.id}shop`,
    "Opened last: shop",
    "On this page: Keyboard shortcuts",
    ...["Home", "Activity", "Push", "Users", "Groups", "Runners", "System", "Audit"].map(
      (name) => `Pages: ${name}`,
    ),
    "Pages: Your account: language, Git hosts, password, sessions",
    "Pages: Tokens",
    "Pages: Find a user",
    "Pages: Channels",
    "Pages: Playground",
  ]);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/tasks/${task.id}`);

  await page.getByRole("button", { name: "Run again" }).waitFor();
  await open();
  await page.keyboard.type("run again");
  await dialog.getByRole("option", { name: "On this page: Run again" }).click();
  const question = page.getByRole("dialog", { name: `Run task ${task.id} again?` });
  await question.waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "detached" });

  await go(`/projects/${shop}`);
  await page.getByRole("button", { name: "Deploy" }).waitFor();
  await open();
  await page.keyboard.type("settings: var");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/projects/${shop}/settings/variables`);
  await open();
  await page.keyboard.type("keyboard");
  await dialog.getByRole("option", { name: "On this page: Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Enter");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await help.getByText("Show this list").waitFor();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });

  // Each user has their own list.
  await server.admin.expect(201, "POST", "/api/users", { username: "olga", password: userPassword });
  const other = await openConsole(browser, server.url, wide, { username: "olga", password: userPassword });
  await other.go("/");
  await other.page.keyboard.press("Control+K");
  const options = other.page.getByRole("dialog", { name: "Search" }).getByRole("option");
  await options.first().waitFor();
  expect(await options.first().textContent()).toBe("On this page: Keyboard shortcuts");
  expect([...faults, ...other.faults]).toEqual([]);
  await other.close();
  await close();
});

test("“roll” offers to roll back what serves, also with a name; what cannot be done is not offered", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  await go("/");
  await page.keyboard.press("Control+K");
  const field = page.getByRole("combobox", { name: "Search" });
  const actions = page.getByRole("option", { name: /^Actions: / });
  await field.fill("roll");
  await actions.first().waitFor();
  expect(await actions.allTextContents()).toEqual(["Actions: Roll back shop"]);
  for (const words of ["promote shop", "approve", "roll back ledger"]) {
    await field.fill(words);
    await page
      .getByText("Nothing was found for")
      .or(page.getByRole("option", { name: /ledger|shop/ }))
      .first()
      .waitFor();
    expect(await page.getByRole("option", { name: /^Actions: (Roll|Promote|Approve)/ }).count()).toBe(0);
  }
  await field.fill("roll back shop");
  await actions.filter({ hasText: "Roll back shop" }).click();
  await page.waitForURL(`**/projects/${shop}/releases`);
  expect(faults).toEqual([]);
  await close();
});

test("a user who was found is shown, whatever page of the list has them", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  for (const username of ["ann", "zoe"])
    await server.admin.expect(201, "POST", "/api/users", { username, password: userPassword });
  await go("/");
  await page.keyboard.press("Control+K");
  await page.getByRole("combobox", { name: "Search" }).waitFor();
  await page.keyboard.type("zoe");
  await page.getByRole("option", { name: "Users: zoe" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("cell", { name: "zoe", exact: true }).waitFor();
  expect(await page.getByRole("cell", { name: "ann", exact: true }).count()).toBe(0);
  await page.getByRole("button", { name: "Show all users" }).click();
  await page.getByRole("cell", { name: "ann", exact: true }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test("with the keyboard alone: sign in, search “run shop”, confirm, and watch the deploy", async () => {
  const context = await browser.newContext(wide);
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  await page.goto(server.url);
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/users", {
    username: "mia",
    password: userPassword,
  });
  await server.admin.expect(200, "PUT", `/api/projects/${shop}/members/${id}`, { permission: "manage" });
  await page.getByLabel("Username").waitFor();
  await isPainted(page);
  await page.keyboard.type("mia");
  await page.keyboard.press("Tab");
  await page.keyboard.type(userPassword);
  await page.keyboard.press("Enter");
  await page.getByRole("table", { name: "Projects" }).waitFor();
  await page.keyboard.press("/");
  await page.getByRole("combobox", { name: "Search" }).waitFor();
  await page.keyboard.type("run shop");
  const run = page.getByRole("option", { name: /Start a deploy of shop/ });
  await run.waitFor();
  // What others own is not found.
  expect(await page.getByRole("option", { name: /ledger/ }).count()).toBe(0);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByLabel("Branch or tag").waitFor();
  await focusedDialogField(page);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/tasks/*");
  await page.locator('.task-facts .state[data-state="success"]').waitFor({ timeout: 60_000 });
  await context.close();
});

test("activity is filtered by project, status, trigger, author and time, in the address", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  await go(`/activity?projectId=${shop}&outcome=success&trigger=manual&from=2020-01-01T00:00`);
  await page.getByRole("listitem").filter({ hasText: "shop" }).first().waitFor();
  await page.getByRole("button", { name: "Filters (4 active)" }).click();
  const chosen = page.getByRole("combobox", { name: "Project" });
  await eventually("the name of the project is shown", async () => (await chosen.inputValue()) === "shop");
  await go("/activity?trigger=webhook");
  await page.getByText("Nothing matches these filters").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.waitForURL("**/activity");
  await page.getByRole("button", { name: "Filters", exact: true }).click();
  await page.getByRole("combobox", { name: "Project" }).click();
  await page.keyboard.type("ledg");
  await page.getByRole("option", { name: "ledger" }).click();
  await page.waitForURL(/projectId=/);
  await page.getByText("Nothing matches these filters").waitFor();
  await go("/activity?projectId=x&outcome=odd&from=never&trigger=1");
  await page.getByRole("listitem").filter({ hasText: "shop" }).first().waitFor();
  expect(faults).toEqual([]);
  await close();
});

test("the log collapses stages, wraps, shows times with their zone, and is copied without colour codes", async () => {
  const view = await openConsole(browser, server.url, { ...wide, timezoneId: "Asia/Shanghai" });
  const { page, faults, go, close } = view;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await go(`/tasks/${task.id}`);
  const log = page.getByRole("region", { name: `Log of task ${task.id}` });
  const line = log.locator(".log-text", { hasText: "green line" });
  await line.waitFor();
  await log.getByRole("button", { name: /^build/ }).click();
  await line.waitFor({ state: "detached" });
  await page.getByRole("list", { name: "Stages" }).getByRole("link", { name: "build" }).click();
  await line.waitFor();
  await log.getByRole("button", { name: "Times" }).click();
  await log.getByText("Asia/Shanghai (GMT+8)").waitFor();
  expect(await log.locator("time.log-time").first().getAttribute("title")).toContain("GMT+8");
  await log.getByRole("button", { name: "Wrap" }).click();
  await log.locator(".log-scroll[data-wrapped]").waitFor();
  await log.getByRole("button", { name: "Copy" }).click();
  await page.getByText("The log was copied").waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain("green line\n");
  expect(copied).not.toContain("\u001b");
  expect(faults).toEqual([]);
  await close();
});

test("a failed task shows its first error above the log, and a watched one ends with a notification", async () => {
  const gate = `${server.scratch}/gate`;
  const script = `while [ ! -f ${gate} ]; do sleep 0.1; done; echo compiling; echo 'src/a.ts: error: no such name'; exit 2`;
  const failing = await server.project(repository.url, { build: script }, { name: "failing" });
  const run = await server.run(failing);
  const { page, faults, go, close } = await openConsole(browser, server.url);
  await page.context().grantPermissions(["notifications"]);
  await page.addInitScript(() => {
    const shown: string[] = [];
    class Announced {
      static permission = "granted";
      static requestPermission = async () => "granted";
      constructor(title: string) {
        shown.push(title);
      }
    }
    Object.assign(globalThis, { Notification: Announced, shown });
  });
  await go(`/tasks/${run.id}`);
  await page.locator('.task-facts .state[data-state="running"]').waitFor();
  await page.getByRole("button", { name: "Notify me" }).click();
  await page.getByRole("button", { name: "Notification on" }).waitFor();
  await page.locator(".side").getByRole("link", { name: "Activity" }).click();
  await page.waitForURL("**/activity");
  await Bun.write(gate, "");
  await page.waitForFunction(() => (globalThis as unknown as { shown: string[] }).shown.length > 0);
  expect(await page.evaluate(() => (globalThis as unknown as { shown: string[] }).shown)).toEqual([
    `failing: task ${run.id} failed`,
  ]);
  await go(`/tasks/${run.id}`);
  const error = page.locator(".first-error");
  await error.getByText("src/a.ts: error: no such name").waitFor();
  await error.getByRole("link").click();
  await page.locator('.log-line[data-marked="true"]', { hasText: "no such name" }).waitFor();
  const next = page.getByRole("navigation", { name: "What next" });
  await next.getByText("Nothing is known to serve.").waitFor();
  await next.getByRole("link", { name: "Edit build" }).click();
  await page.waitForURL(`**/projects/${failing}/settings/pipeline#build`);
  expect(await page.locator("#build textarea").first().inputValue()).toContain("compiling");
  expect(faults).toEqual([]);
  await close();
});
