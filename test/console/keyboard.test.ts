import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { guardedProject } from "../support/approval-scene.ts";
import { isPainted, openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";

// Everything here is done with keys. A mouse that is used is a fault: the page notes every pointer.
const { browser, server } = await setUpConsole();
const repository = await makeRepository();
await repository.push({ "readme.md": "hello" }, { message: "Open the shop" });
afterAll(() => repository.remove());
const view = await openConsole(browser, server.url, wide);
const { page, go } = view;
await page.addInitScript(() => {
  addEventListener("pointerdown", () => sessionStorage.setItem("mouse", "used"), { capture: true });
});
afterAll(() => expect(view.faults).toEqual([]));

const focusedName = () =>
  page.evaluate(() => {
    const own = document.activeElement;
    if (own === null || own === document.body) return "";
    const isField = own instanceof HTMLInputElement || own instanceof HTMLTextAreaElement;
    const label = isField ? own.labels?.[0]?.textContent : null;
    return (own.getAttribute("aria-label") ?? label ?? own.textContent ?? "").replace(" *", "").trim();
  });

/** Presses Tab until the focus is at what has this name, as a user who looks at the page does. */
async function tabTo(name: string | RegExp, most = 80): Promise<void> {
  for (let presses = 0; presses < most; presses++) {
    const found = await focusedName();
    if (typeof name === "string" ? found === name : name.test(found)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${name}; the focus is at ${await focusedName()}`);
}

/** Chooses a result of the palette. */
async function palette(typed: string, option: string | RegExp): Promise<void> {
  await page.keyboard.press("Control+K");
  await page.getByRole("combobox", { name: "Search" }).waitFor();
  await page.keyboard.type(typed);
  const wanted = page.getByRole("option", { name: option });
  await wanted.first().waitFor();
  for (let presses = 0; presses < 20; presses++) {
    const selected = page.locator('[role="option"][aria-selected="true"]').and(wanted);
    if ((await selected.count()) > 0) break;
    await page.keyboard.press("ArrowDown");
  }
  await page.keyboard.press("Enter");
  // The focus returns to the page with the end of the palette.
  await page.getByRole("combobox", { name: "Search" }).waitFor({ state: "detached" });
  await isPainted(page);
}

const succeeded = (of: Page) => of.locator('.task-facts .state[data-state="success"]').waitFor();

test("with keys alone a project is created and deployed", async () => {
  await go("/");
  await palette("add a project", /Add a project/);
  await page.waitForURL("**/projects/new");
  await page.getByLabel("Clone URL").and(page.locator(":focus")).waitFor();
  await page.keyboard.type(repository.url);
  await page.getByText("Slipway can read the repository").waitFor();
  await tabTo("Name");
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type("keys");
  await tabTo("deploy");
  await page.keyboard.type("echo deployed");
  // Tab leaves the editor of a script.
  await tabTo("Add the project");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/set-up");
  await palette("keys", /^Projects: keys/);
  await page.getByRole("heading", { name: "keys" }).waitFor();
  await isPainted(page);
  await palette("deploy", /Start a deploy of keys/);
  await page.getByRole("dialog").getByRole("button", { name: "Start the deploy" }).waitFor();
  await tabTo("Start the deploy");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/tasks/*");
  await succeeded(page);
}, 120_000);

test("with keys alone a deploy is approved", async () => {
  const { id } = await guardedProject(server, { url: repository.url, dataDir: server.dataDir });
  const { id: taskId } = await server.reach((await server.run(id)).id, "waiting");
  await go("/");
  await palette(`${taskId}`, new RegExp(`^Tasks: .*${taskId}`));
  await page.waitForURL(`**/tasks/${taskId}`);
  await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
  await tabTo("Approve");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await tabTo("Approve the deploy");
  await page.keyboard.press("Enter");
  await succeeded(page);
}, 120_000);

test("with keys alone an earlier release comes back", async () => {
  const id = await server.project(repository.url, { deploy: "true" }, { name: "shop" });
  await server.reach((await server.run(id)).id, "success");
  await repository.push({ "page.html": "worse" }, { message: "Worse" });
  const { id: latest } = await server.reach((await server.run(id)).id, "success");
  await go("/");
  await palette("shop", /^Projects: shop/);
  await page.waitForURL(`**/projects/${id}`);
  await page
    .getByRole("button", { name: /^Roll back/ })
    .first()
    .waitFor();
  await palette("roll back", /Roll back to/);
  await page.getByRole("dialog").getByRole("button", { name: "Start the rollback" }).waitFor();
  await tabTo("Start the rollback");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname !== `/tasks/${latest}` && url.pathname.startsWith("/tasks/"));
  await succeeded(page);
}, 120_000);

test("with keys alone a user is found, and no mouse was needed for any of this", async () => {
  const message = { targetType: "user", target: "42", data: "hello" };
  await server.admin.expect(200, "POST", "/api/push/publish", message);
  await go("/");
  await palette("find a user", /Find a user/);
  await page.waitForURL("**/push/find");
  await tabTo("User ID");
  await page.keyboard.type("42");
  expect(await page.getByLabel("User ID").inputValue()).toBe("42");
  await page.keyboard.press("Enter");
  await page.getByText("42 had no connection on any instance.").first().waitFor();
  expect(await page.evaluate(() => sessionStorage.getItem("mouse"))).toBeNull();
});
