import { afterAll, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { violations } from "../support/axe.ts";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { becomesLive, inScheme, openConsole, wide } from "../support/console-page.ts";
import { setUpScene } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";

/** Faults that a user of the console has seen. */

const { browser, scene } = await setUpScene();
const { server, shopId } = scene;
const withScrollBars = await startBrowser({ hasScrollBars: true });
const repository = await makeRepository();
await repository.push({ "readme.md": "hello" });
const view = await openConsole(browser, server.url);
const { page, go } = view;
afterAll(async () => {
  repository.remove();
  await closeBrowser(withScrollBars);
  expect(view.faults).toEqual([]);
});

test("a dialog does not move the page", async () => {
  const scrolling = await openConsole(withScrollBars, server.url);
  await scrolling.go(`/projects/${shopId}/settings/pipeline`);
  const head = scrolling.page.locator("h1");
  expect(await scrolling.page.evaluate(() => innerWidth - document.body.offsetWidth)).toBe(15);
  const before = await head.boundingBox();
  await scrolling.page.getByRole("button", { name: "Start a deploy" }).click();
  await scrolling.page.getByRole("dialog").waitFor();
  expect(await head.boundingBox()).toEqual(before);
  await scrolling.close();
});

test("on a phone the reason of a delivery has the width of its page", async () => {
  const phone = await openConsole(browser, server.url, { viewport: { width: 390, height: 844 } });
  await phone.go("/activity?show=all");
  await phone.page.locator(".activity-title").first().click();
  const outcome = phone.page.locator(".outcome .foreign");
  await outcome.waitFor();
  expect(await widthOf(outcome)).toBeGreaterThan(300);
  await phone.close();
});

async function widthOf(element: Locator): Promise<number> {
  return (await element.boundingBox())?.width ?? 0;
}

test("a page that is left closes its live connection, and one that returns opens it again", async () => {
  await go("/");
  await becomesLive(page);
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true })));
  await page.locator('.side .live-state:not([data-state="open"])').waitFor();
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
  await becomesLive(page);
});

test("a clone URL that is none is an error at once, and an unreachable host can be tried again", async () => {
  await go("/projects/new");
  const field = page.getByLabel("Clone URL");
  await field.fill("nonsense");
  await field.and(page.locator('[aria-invalid="true"]')).waitFor();
  expect(await page.getByText("must be an https or ssh address", { exact: false }).count()).toBe(1);
  for (const scheme of ["dark", "light"] as const) {
    await inScheme(page, scheme);
    expect(await violations(page, ["color-contrast"])).toEqual([]);
  }
  const unread = page.getByRole("button", { name: "Continue without reading the repository" });
  expect(await unread.count()).toBe(0);
  await field.fill("http://127.0.0.1:1/shop.git");
  await page.getByText("Couldn't read the repository").waitFor();
  const asked = page.waitForRequest("**/api/repositories/inspect");
  await page.getByRole("button", { name: "Try again" }).click();
  await asked;
  await unread.waitFor();
  await field.fill("");
});

test("Enter in the clone URL reads the repository and adds nothing; an error goes with the value that caused it", async () => {
  await go("/projects/new");
  let added = 0;
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith("/api/projects")) added++;
  });
  const field = page.getByLabel("Clone URL");
  await field.fill(repository.url);
  await field.press("Enter");
  await page.getByText("Slipway can read the repository").waitFor();
  expect(added).toBe(0);
  expect(await page.locator('[aria-invalid="true"]').count()).toBe(0);
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  await name.fill("s".repeat(300));
  await name.press("Enter");
  await name.and(page.locator('[aria-invalid="true"]')).waitFor();
  await name.fill("another shop");
  await name.and(page.locator(':not([aria-invalid="true"])')).waitFor();
  await field.fill("");
});

test("where nothing serves, no rollback is offered", async () => {
  const projectId = await server.project(repository.url, { build: "true" });
  const task = await server.run(projectId);
  await server.reach(task.id, "success");
  await go(`/tasks/${task.id}`);
  await page.getByRole("button", { name: "Run again" }).waitFor();
  expect(await page.getByRole("button", { name: /Roll back/ }).count()).toBe(0);
});

test("the account is in view on a low screen", async () => {
  const low = await openConsole(browser, server.url, { viewport: { width: 1280, height: 657 } });
  await low.go("/");
  const { y = 0, height = 657 } = (await low.page.locator(".side .me").boundingBox()) ?? {};
  expect(y + height).toBeLessThan(657);
  await low.close();
});

test("a stage whose lines arrive is running", async () => {
  const late = await openConsole(browser, server.url);
  await late.page.route(`**/api/tasks/${scene.runningTaskId}`, async (route) => {
    const response = await route.fetch();
    const task = (await response.json()) as { stages: object[] };
    const stages = task.stages.map((stage) => ({ ...stage, state: "pending", startedAt: null }));
    await route.fulfill({ response, json: { ...task, stages } });
  });
  await late.go(`/tasks/${scene.runningTaskId}`);
  await late.page.locator(".log-text", { hasText: "rendering" }).waitFor();
  await late.page.locator('.stage[data-state="running"]', { hasText: "build" }).waitFor();
  await late.close();
});

test("a part of a page whose request got no answer is asked for again", async () => {
  const path = `/api/tasks?projectId=${shopId}`;
  const { items } = await server.admin.expect<{ items: { id: number }[] }>(200, "GET", path);
  const busy = { error: { code: "busy", message: "The server is busy." } };
  for (const answer of [
    { status: 429, json: busy },
    { status: 500, body: "" },
    { status: 200, body: "{" },
  ]) {
    const late = await openConsole(browser, server.url);
    await late.page.route(`**/api/projects/${shopId}`, (route) => route.fulfill(answer), { times: 1 });
    await late.go(`/tasks/${items[0]?.id}`);
    await late.page.locator("h1", { hasText: "shop" }).waitFor();
    await late.close();
  }
});

test("the scroll bar of the log is dark in both schemes", async () => {
  await go(`/tasks/${scene.failedTaskId}`);
  expect(await schemeOf(page, ".log-scroll")).toBe("dark");
});

function schemeOf(shown: Page, selector: string): Promise<string> {
  return shown.locator(selector).evaluate((element) => getComputedStyle(element).colorScheme);
}

test("two buttons of a dialog do not both say cancel", async () => {
  const view = await openConsole(browser, server.url, wide);
  await view.go(`/tasks/${scene.runningTaskId}`);
  await view.page.getByRole("button", { name: "Cancel" }).click();
  const buttons = view.page.getByRole("dialog").locator("form").getByRole("button");
  await buttons.last().waitFor();
  expect(await buttons.allTextContents()).toEqual(["Keep it running", "Cancel the task"]);
  await view.close();
});
