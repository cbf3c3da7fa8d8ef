import { afterAll, beforeEach, expect, test } from "bun:test";
import { userPassword } from "../support/api-server.ts";
import { violations } from "../support/axe.ts";
import { openConsole, saveBar, saveForms, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";
import { makeHook, sha } from "../support/hook.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });
const view = await openConsole(browser, server.url);
afterAll(() => expect(view.faults).toEqual([]));

let count = 0;
let name: string;
let path: string;

beforeEach(async () => {
  name = `shop ${++count}`;
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name,
    git: { url: "https://git.example.com/shop.git" },
    env: { KEPT: "1", REPLACED: "old" },
  });
  path = `/projects/${id}`;
});

const saved = () => server.admin.expect<Record<string, unknown>>(200, "GET", `/api${path}`);

test("one bar counts the changed fields of the page, stays in view, and its save can be undone", async () => {
  const { page, go } = view;
  await go(`${path}/settings/pipeline`);
  expect(await saveBar(page).count()).toBe(0);
  await page.getByRole("textbox", { name: "build", exact: true }).fill("make");
  await saveBar(page).getByText("1 unsaved change", { exact: true }).waitFor();
  await page.getByLabel("Folder of deploy").fill("web");
  await saveBar(page).getByText("2 unsaved changes", { exact: true }).waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  const box = await saveBar(page).boundingBox();
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(page.viewportSize()?.height ?? 0);
  await saveForms(page);
  expect(await saved()).toMatchObject({
    stages: { build: { script: "make" }, deploy: { directory: "web" } },
  });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("The change was undone.").waitFor();
  const { stages } = await saved();
  expect(stages).toMatchObject({ build: { script: "" } });
  expect(JSON.stringify(stages)).not.toContain("web");
  await page.waitForFunction(() => document.querySelector("textarea")?.value === "");
});

test("the bar does not cover what has the focus, and filters fit into two rows", async () => {
  const laptop = await openConsole(browser, server.url, { viewport: { width: 1425, height: 700 } });
  const { page } = laptop;
  await laptop.go(`${path}/settings/notifications`);
  const add = page.getByRole("button", { name: "Add an address" });
  await add.click();
  await saveBar(page).waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  await add.evaluate((button) => button instanceof HTMLElement && button.focus());
  const [button, bar] = [await add.boundingBox(), await saveBar(page).boundingBox()];
  expect((button?.y ?? 0) + (button?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
  await page.getByRole("button", { name: "Discard" }).click();
  await laptop.go("/activity");
  await page.getByRole("button", { name: "Filters" }).click();
  const rows = await page
    .locator(".filters > div")
    .evaluateAll((fields) => [
      ...new Set(fields.map((field) => Math.round(field.getBoundingClientRect().bottom))),
    ]);
  expect(rows.length).toBeLessThanOrEqual(2);
  await laptop.close();
});

test("a refused field gets the focus, with its error next to it", async () => {
  const { page, go } = view;
  await go(`${path}/settings/source`);
  await page.getByLabel("Clone URL").fill("ftp://nowhere");
  await page.getByLabel("Name").fill(`${name} renamed`);
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("must start with https:// or ssh://", { exact: false }).waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-invalid") === "true");
  expect(await page.getByLabel("Clone URL").evaluate((field) => field === document.activeElement)).toBe(true);
  await saveBar(page).getByText("2 unsaved changes").waitFor();
  await saveBar(page).getByRole("button", { name: "Discard" }).click();
});

test("the success of one save does not stay beside the refusal of the next", async () => {
  const { page, go } = view;
  await go(`${path}/settings/source`);
  await page.getByLabel("Name").fill(`${name} saved`);
  await saveForms(page);
  const saved = page.getByRole("alert").filter({ hasText: "Saved." });
  await saved.waitFor();
  await page.getByLabel("Clone URL").fill("ftp://nowhere");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("must start with https:// or ssh://", { exact: false }).waitFor();
  await saved.waitFor({ state: "detached", timeout: 2_000 });
  await saveBar(page).getByRole("button", { name: "Discard" }).click();
});

test("what is refused in a row of a list is said once, in its row", async () => {
  const { page, go } = view;
  await go(`${path}/settings/notifications`);
  await page.getByRole("button", { name: "Add an address" }).click();
  const url = page.getByRole("textbox", { name: "Address" }).last();
  await url.fill("ftp://chat.example.com");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await page.locator("form [aria-invalid=true]").waitFor();
  expect(await page.getByText("must ", { exact: false }).count()).toBe(1);
  expect(await page.getByRole("alert").count()).toBe(0);
  await saveBar(page).getByRole("button", { name: "Discard" }).click();
});

test("the script editor numbers its lines, colours the script, and Tab leaves it", async () => {
  const { page, go } = view;
  await go(`${path}/settings/pipeline`);
  const current = page.getByRole("navigation", { name: "Settings" }).locator("[aria-current=page]");
  expect(await current.textContent()).toBe("Pipeline");
  const build = page.getByRole("textbox", { name: "build", exact: true });
  const script = `# install\nnpm ci --ignore-scripts\necho "$HOME" | tee ${"x".repeat(300)}\n\n\nexit 0`;
  await build.fill(script);
  const editor = page.locator(".script-editor").first();
  expect(await editor.locator(".script-lines").textContent()).toBe("1\n2\n3\n4\n5\n6");
  expect(await editor.locator("pre").textContent()).toBe(`${script}\n`);
  expect(await editor.locator('[data-kind="comment"]').textContent()).toBe("# install");
  // The letters of both layers lie on each other.
  const [text, field] = [await editor.locator("pre").boundingBox(), await build.boundingBox()];
  expect(text && field && [text.x, text.y, text.width]).toEqual(field && [field.x, field.y, field.width]);
  await build.focus();
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe(
    "Folder of build",
  );
  await page.keyboard.press("Shift+Tab");
  expect(await build.evaluate((element) => element === document.activeElement)).toBe(true);
  await saveForms(page);
  expect(await saved()).toMatchObject({ stages: { build: { script } } });
});

test("a pasted .env file adds and replaces variables, names lines that it leaves out, and saves nothing by itself", async () => {
  const { page, go } = view;
  await go(`${path}/settings/variables`);
  await page.getByRole("button", { name: "Paste a .env file" }).click();
  const dialog = page.getByRole("dialog");
  await dialog
    .getByLabel("Content of the file")
    .fill('# comment\nREPLACED="new value"\nexport ADDED=2 # two\nnot one\n');
  await dialog.getByText("Line 4 is not NAME=value and is left out.").waitFor();
  await dialog.getByRole("button", { name: "Add these variables" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await page.getByLabel("Value of ADDED").inputValue()).toBe("2");
  expect(await saved()).toMatchObject({ env: { KEPT: "1", REPLACED: "old" } });
  await saveForms(page);
  expect((await saved()).env).toEqual({ KEPT: "1", REPLACED: "new value", ADDED: "2" });
});

test("a project is deleted only after its name is typed", async () => {
  const { page, go } = view;
  await go(`${path}/settings/source`);
  await page.getByRole("button", { name: "Delete the project" }).click();
  const dialog = page.getByRole("dialog");
  const confirm = dialog.getByRole("button", { name: "Delete the project" });
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByRole("textbox").fill("shop");
  await dialog.getByRole("textbox").press("Enter");
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByRole("textbox").fill(name);
  await confirm.click();
  await page.waitForURL(({ pathname }) => pathname === "/");
  expect((await server.admin.request("GET", `/api${path}`)).status).toBe(404);
});

test("a member is removed after a question, and the removal can be undone", async () => {
  const { page, go } = view;
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/users", {
    username: "ann",
    password: userPassword,
  });
  await server.admin.expect(200, "PUT", `/api${path}/members/${id}`, { permission: "manage" });
  const members = async () =>
    (await server.admin.expect<{ items: object[] }>(200, "GET", `/api${path}/members`)).items;
  await go(`${path}/settings/access`);
  await page.getByRole("button", { name: "Remove ann" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await members()).toHaveLength(1);
  await page.getByRole("button", { name: "Remove ann" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove the member" }).click();
  await page.getByText("The member was removed.").waitFor();
  expect(await members()).toEqual([]);
  // As every notification: its button to close has a name.
  await page.getByRole("alert").filter({ hasText: "Undo" }).getByRole("button", { name: "Close" }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await eventually("the member is back", async () => (await members()).length === 1);
  expect(await members()).toMatchObject([{ username: "ann", permission: "manage" }]);
});

test("a deploy starts only after a question", async () => {
  const { page, go } = view;
  await go(path);
  await page.getByRole("button", { name: "Start a deploy" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("A new task builds and deploys the tip of main.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const { total } = await server.admin.expect<{ total: number }>(200, "GET", "/api/tasks?pageSize=1");
  await page.getByRole("button", { name: "Start a deploy" }).click();
  await dialog.getByRole("button", { name: "Start the deploy" }).click();
  await page.waitForURL("**/tasks/*");
  expect(await server.admin.expect(200, "GET", "/api/tasks?pageSize=1")).toMatchObject({ total: total + 1 });
});

test("a long commit message does not push the effect of a rule out of its panel", async () => {
  const { page, go } = view;
  const hook = await makeHook(server, {});
  const message = `${"Unbroken".repeat(60)}\n\n${"many words of a long body ".repeat(40)}`;
  await hook.deliver({ payload: { event: "push", ref: "main", commit: sha("1"), message, author: "ann" } });
  await go(`/projects/${hook.projectId}/settings/rules`);
  await page.getByLabel("Skip keyword", { exact: true }).fill("Unbroken");
  const effect = page.getByLabel("What these rules do");
  await effect.getByText("would change:").waitFor();
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 860 });
    const tooWide = await effect.evaluate((panel) =>
      [panel, ...panel.querySelectorAll("*")]
        .filter((part) => part.getBoundingClientRect().right > panel.getBoundingClientRect().right + 1)
        .map((part) => part.outerHTML.slice(0, 120)),
    );
    expect(tooWide).toEqual([]);
  }
  await page.setViewportSize(wide.viewport);
  await saveBar(page).getByRole("button", { name: "Discard" }).click();
});

test("a field that is not filled in says so below itself, until something is typed", async () => {
  const { page, go } = view;
  await go("/users");
  await page.getByRole("button", { name: "Add a user" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Add the user" }).click();
  const username = dialog.getByLabel("Username");
  const faults = dialog.getByText("Fill in this field.");
  expect(await faults.count()).toBe(2);
  expect(await username.evaluate((field) => document.activeElement === field)).toBe(true);
  expect(await username.getAttribute("aria-invalid")).toBe("true");
  const note = await username.getAttribute("aria-describedby");
  expect(await dialog.locator(`[id="${note?.split(" ").at(-1)}"]`).textContent()).toBe("Fill in this field.");
  expect(await violations(page)).toEqual([]);
  await username.fill("bo");
  expect(await faults.count()).toBe(1);
  expect(await username.getAttribute("aria-invalid")).toBeNull();
});

test("a secret's bad name is said at its field until the next attempt, and a failure ends with the page", async () => {
  const { page, go } = view;
  await go(`${path}/settings/variables`);
  const name = page.getByRole("textbox", { name: "Name" }).last();
  const store = page.getByRole("button", { name: "Store the secret" });
  await name.fill("bad name");
  await page.getByLabel("Value").last().fill("s3cret");
  await store.click();
  await page.locator(".mantine-InputWrapper-error").getByText("must").waitFor();
  expect(await name.getAttribute("aria-invalid")).toBe("true");
  expect(await page.getByRole("alert").count()).toBe(0);
  await name.fill("STRIPE_KEY");
  await store.click();
  await page.getByText("STRIPE_KEY is stored.").waitFor();
  expect(await page.locator(".mantine-InputWrapper-error").count()).toBe(0);

  await go(`${path}/settings/access`);
  const user = page.getByRole("combobox", { name: "User" });
  await user.fill("nobody");
  await page.getByRole("button", { name: "Add the member" }).click();
  await page.locator(".mantine-InputWrapper-error").getByText("no user").waitFor();
  await user.fill("");

  await page.route("**/webhook/generate-secret*", (route) => route.abort());
  await go(`${path}/settings/rules`);
  await page.getByRole("button", { name: "Generate a secret" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByRole("link", { name: "Variables" }).click();
  await page.getByRole("alert").waitFor({ state: "detached" });
});

test("a new user may view what was chosen in the form, and the access page names and links the group", async () => {
  const { page, go } = view;
  const group = `web ${count}`;
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: group });
  await server.admin.expect(200, "PATCH", `/api${path}`, { groupId: id });
  await go("/users");
  await page.getByRole("button", { name: "Add a user" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Username").fill(`ann-${count}`);
  await dialog.getByRole("textbox", { name: "Password" }).fill(userPassword);
  await dialog.getByRole("combobox", { name: "Access to" }).click();
  await page.getByRole("option", { name: group }).click();
  await page.keyboard.press("Escape");
  await dialog.getByRole("button", { name: "Add the user" }).click();
  await page.getByText(`ann-${count} can sign in now.`).waitFor();
  await go(`${path}/settings/access`);
  const row = page.getByRole("row").filter({ hasText: `ann-${count}` });
  await row.getByText(`may view as a member of the group ${group}`).waitFor();
  expect(await row.getByRole("link", { name: group }).getAttribute("href")).toBe("/groups");
});
