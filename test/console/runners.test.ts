import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { userPassword } from "../support/api-server.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";
import { registerRunner } from "../support/protocol-runner.ts";

const { browser, server } = await setUpConsole();
const repository = await makeRepository();
await repository.push({ "index.html": "<h1>Shop</h1>" }, { message: "Open the shop" });
const view = await openConsole(browser, server.url);
afterAll(() => {
  expect(view.faults).toEqual([]);
  repository.remove();
});

const notice = (page: Page) => page.getByRole("note", { name: "Scripts are not isolated" });

test("a task that no runner may take shows the reason, in lists and on its page, until a runner may take it", async () => {
  const { page, go } = view;
  const projectId = await server.project(
    repository.url,
    { build: "echo built" },
    { labels: ["gpu", "arm64"] },
  );
  const { id } = await server.run(projectId);
  const reason = "waiting: no runner has the labels gpu, arm64";
  for (const path of ["/", "/activity", `/projects/${projectId}/activity`]) {
    await go(path);
    await page.locator("main .waiting", { hasText: reason }).first().waitFor();
  }
  await go(`/tasks/${id}`);
  const note = page.getByRole("note").filter({ hasText: reason });
  await note.waitFor();
  await note.getByRole("link", { name: "See the runners" }).click();
  await page.getByRole("heading", { name: "Runners" }).waitFor();
  await go("/");
  const need = page.getByRole("link", { name: "1 task waits for a runner" });
  expect(await need.getAttribute("href")).toBe("/runners");
  await go(`/tasks/${id}`);
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { labels: ["gpu"] });
  await page.getByRole("note").filter({ hasText: "no runner has the labels gpu" }).waitFor();
  await note.waitFor({ state: "detached" });
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { labels: [] });
  await page.getByText("built").first().waitFor();
  await page.getByRole("note").filter({ hasText: "no runner has" }).waitFor({ state: "detached" });
  expect(await page.locator("main").getByText("no runner has").count()).toBeLessThanOrEqual(1);
});

test("runners show whether their scripts are isolated, on wide and narrow screens", async () => {
  for (const viewport of [wide.viewport, { width: 390, height: 844 }]) {
    const { page, go, close } = await openConsole(browser, server.url, { viewport });
    await go("/runners");
    await page.getByRole("row").filter({ hasText: "local" }).getByText("not isolated").waitFor();
    const isWiderThanScreen = await page.evaluate(
      () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
    );
    expect(isWiderThanScreen).toBe(false);
    await close();
  }
});

test("an admin confirms the isolation that a runner reports, and lets it take projects without labels", async () => {
  const { page, go } = view;
  const runner = await registerRunner(server.url, server.admin, {
    name: "build-1",
    labels: ["linux"],
    reports: { isolation: "container" },
  });
  await runner.claim(AbortSignal.timeout(500)).catch(() => null);
  await go("/runners");
  const row = page.getByRole("row").filter({ hasText: "build-1" });
  await row.getByText("not isolated (reports: every script runs in a container; not confirmed)").waitFor();
  await row.getByRole("button", { name: "Edit" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: "Isolation that you confirm" }).click();
  await page.getByRole("option", { name: "every script runs in a container" }).click();
  await dialog.getByRole("checkbox", { name: "Also projects without labels" }).check();
  await dialog.getByRole("button", { name: "Save the runner" }).click();
  await dialog.waitFor({ state: "detached" });
  await row.getByText("isolated: containers").waitFor();
  await row.getByText("linux, and projects without labels").waitFor();
  expect(await server.admin.expect(200, "GET", `/api/runners/${runner.id}`)).toMatchObject({
    alsoUnlabelled: true,
    trustedIsolation: "container",
    isolation: "container",
  });
  await server.admin.expect(204, "DELETE", `/api/runners/${runner.id}`);
});

test("a runner whose scripts are not isolated shows why and what to do, in both languages", async () => {
  const isolationNote = {
    reason: "bubblewrap is not installed: install the package bubblewrap (program bwrap, 0.8 or newer)",
    reasonParts: [{ code: "no_sandbox_installed", values: {} }],
  };
  const runner = await registerRunner(server.url, server.admin, {
    name: "bare",
    labels: ["bare"],
    reports: { isolationNote },
  });
  await runner.claim(AbortSignal.timeout(500)).catch(() => null);
  const texts = { en: "install the package bubblewrap", "zh-CN": "请安装软件包 bubblewrap" };
  for (const [locale, text] of Object.entries(texts)) {
    const { page, go, close } = await openConsole(browser, server.url, { ...wide, locale });
    await go("/runners");
    await page.getByRole("row").filter({ hasText: "bare" }).getByText(text).waitFor();
    await close();
  }
  await server.admin.expect(204, "DELETE", `/api/runners/${runner.id}`);
});

test("as soon as a user who is not an admin may manage a project, the pages of the runners and of the system warn admins", async () => {
  const { page, go } = view;
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: "shared",
    git: { url: "https://git.example.com/shared.git" },
  });
  await server.admin.expect(201, "POST", "/api/users", { username: "ann", password: userPassword });
  await go(`/projects/${id}/settings/access`);
  await page.getByPlaceholder("username").fill("ann");
  await page.getByRole("button", { name: "Add the member" }).click();
  const permission = page.getByRole("combobox", { name: "Permission of ann" });
  await permission.waitFor();
  expect(await notice(page).count()).toBe(0);
  await permission.click();
  const saved = page.waitForResponse((response) => response.request().method() === "PUT");
  await page.getByRole("option", { name: "manage" }).click();
  await saved;
  for (const path of ["/runners", "/system"]) {
    await go(path);
    await notice(page).getByText("local", { exact: false }).first().waitFor();
    await notice(page)
      .getByText(/keys and the database/)
      .waitFor();
  }
  await go("/");
  await page.getByRole("table", { name: "Projects" }).waitFor();
  expect(await notice(page).count()).toBe(0);
  const ann = await openConsole(browser, server.url, wide, { username: "ann", password: userPassword });
  await ann.go("/");
  await ann.page.getByRole("link", { name: "shared" }).waitFor();
  expect(await notice(ann.page).count()).toBe(0);
  await ann.close();
  await go(`/projects/${id}/settings/access`);
  await page.getByRole("button", { name: "Remove ann" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove the member" }).click();
  await page.getByRole("button", { name: "Remove ann" }).waitFor({ state: "detached" });
  await go("/runners");
  await page.getByRole("row").filter({ hasText: "local" }).waitFor();
  expect(await notice(page).count()).toBe(0);
});

test("labels of a runner that another user changed meanwhile are not overwritten without a question", async () => {
  const { page, go } = view;
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/runners", {
    name: "build-2",
    labels: ["linux"],
  });
  const labels = async () =>
    (await server.admin.expect<{ labels: string[] }>(200, "GET", `/api/runners/${id}`)).labels;
  await go("/runners");
  await page.getByRole("row").filter({ hasText: "build-2" }).getByRole("button", { name: "Edit" }).click();
  const dialog = page.getByRole("dialog");
  const field = dialog.getByRole("combobox", { name: "Labels" });
  await field.fill("mine");
  await field.press("Enter");
  await server.admin.expect(200, "PATCH", `/api/runners/${id}`, { labels: ["theirs"] });
  // The list behind the dialog is polled; the form still compares with the revision that it opened.
  await page
    .getByRole("row", { includeHidden: true })
    .filter({ hasText: "build-2" })
    .getByText("theirs")
    .waitFor();
  await dialog.getByRole("button", { name: "Save the runner" }).click();
  const conflict = dialog.getByRole("alert").filter({ hasText: "Another user saved this first" });
  await conflict.waitFor();
  expect(await labels()).toEqual(["theirs"]);
  await conflict.getByRole("button", { name: "Use the saved values" }).click();
  await dialog.getByText("theirs", { exact: true }).waitFor();
  await field.fill("mine");
  await field.press("Enter");
  await dialog.getByRole("button", { name: "Save the runner" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await labels()).toEqual(["theirs", "mine"]);
});
