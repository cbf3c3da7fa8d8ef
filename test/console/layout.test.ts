import { expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { openConsole } from "../support/console-page.ts";
import { setUpScene } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";

/** Boxes of elements at the widths of a desktop, a tablet and a phone. */
const { browser, scene } = await setUpScene();
const { server, shopId, failedTaskId } = scene;
const longName = "data-warehouse-nightly-import-of-all-regions";
await server.project("https://git.example.com/warehouse.git", {}, { name: longName });

const view = await openConsole(browser, server.url);

/** One page for all tests, which keeps the files of the console. */
async function at(width: number) {
  await view.page.unrouteAll();
  await view.page.setViewportSize({ width, height: 900 });
  return view;
}

async function boxOf(element: Locator) {
  const box = await element.boundingBox();
  if (box === null) throw new Error("has no box");
  return { ...box, right: box.x + box.width, bottom: box.y + box.height, middle: box.y + box.height / 2 };
}

const isCut = (element: Locator) => element.evaluate((each) => each.scrollWidth > each.clientWidth);

/** Home as if the running deploy had begun long ago. */
async function longRunning(page: Page): Promise<void> {
  await page.route("**/api/home?*", async (route) => {
    const response = await route.fetch();
    const home = await response.json();
    for (const { current } of home.projects.items)
      if (current?.state === "running")
        Object.assign(current, {
          stage: "build/bundle",
          since: new Date(Date.now() - 868_000).toISOString(),
        });
    await route.fulfill({ response, json: home });
  });
}

for (const width of [1440, 820, 390])
  test(`at ${width}, Home cuts neither the name of a project nor how long its step runs, and states stay in their column`, async () => {
    const { page, go } = await at(width);
    await longRunning(page);
    await go("/");
    const rows = page.getByRole("table", { name: "Projects" }).locator("tbody tr");
    for (const name of ["website", longName]) {
      const link = rows.getByRole("link", { name, exact: true });
      await link.waitFor();
      expect(await isCut(link)).toBe(false);
    }
    const state = rows.getByText("not checked");
    await state.waitFor();
    const ends = await state.evaluate((shown) =>
      [shown, shown.closest("td")].map((each) => each?.getBoundingClientRect().right ?? 0),
    );
    expect(ends[0]).toBeLessThanOrEqual(ends[1] ?? 0);
    const doing = rows.filter({ hasText: "website" }).getByText("build/bundle");
    expect((await doing.textContent())?.replace(/\s+/g, " ")).toBe("build/bundle 14 min");
    expect(await isCut(doing)).toBe(false);
  });

test("a stored secret is one line beside its choices, on a tablet too", async () => {
  for (const width of [1440, 820]) {
    const { page, go } = await at(width);
    await go(`/projects/${shopId}/settings/variables`);
    for (const row of await page.getByRole("table", { name: "Secrets" }).getByRole("row").all()) {
      const name = await boxOf(row.locator("code"));
      for (const part of [
        row.getByRole("combobox").first(),
        row.getByRole("combobox").last(),
        row.getByRole("button"),
      ])
        expect(Math.abs((await boxOf(part)).middle - name.middle)).toBeLessThan(4);
    }
  }
});

test("the editors of a pipeline are as wide as their form", async () => {
  const { page, go } = await at(1440);
  await go(`/projects/${shopId}/settings/pipeline`);
  const editors = await page.locator(".script-editor").all();
  expect(editors.length).toBeGreaterThan(1);
  for (const editor of editors) expect((await boxOf(editor)).width).toBeGreaterThan(700);
});

test("why the last delivery was refused is not cut", async () => {
  await scene.push({ message: "Refused", secret: "no secret" });
  const { page, go } = await at(1080);
  await go(`/projects/${shopId}/settings/rules`);
  const why = page.locator(".arrival > :last-child");
  await why.getByRole("link").waitFor();
  expect(await isCut(why)).toBe(false);
});

test("on a phone tabs are one row and the sections of the settings one select", async () => {
  const { page, go } = await at(390);
  await go(`/projects/${shopId}`);
  // Letters of another font.
  await page.addStyleTag({ content: '[role="tab"] { letter-spacing: 2px }' });
  const tabs = await Promise.all((await page.getByRole("tab").all()).map(boxOf));
  expect(new Set(tabs.map(({ y }) => y)).size).toBe(1);
  await go(`/projects/${shopId}/settings/pipeline`);
  const section = page.getByRole("combobox", { name: "Settings" });
  expect(await section.inputValue()).toBe("pipeline");
  await section.selectOption("rules");
  await page.waitForURL(`**/projects/${shopId}/settings/rules`);
});

test("on a tablet the navigation leaves the page its width", async () => {
  const { page, go } = await at(820);
  await go("/activity");
  expect((await boxOf(page.locator("main"))).x).toBe(0);
  await page.getByRole("button", { name: "Open the navigation" }).click();
  await page.getByRole("dialog").getByRole("link", { name: "Runners" }).waitFor();
});

test("a row of Activity is one line, on a phone two; numbers are shown where it has the focus", async () => {
  for (const [width, height] of [
    [1440, 44],
    [390, 72],
  ] as const) {
    const { page, go } = await at(width);
    await go("/activity?show=all");
    const rows = page.locator(".activity-row");
    await rows.nth(4).waitFor();
    for (const row of await rows.all()) expect((await boxOf(row)).height).toBeLessThanOrEqual(height);
    const numbers = rows.first().locator(".activity-more");
    const opacity = () => numbers.evaluate((each) => getComputedStyle(each).opacity);
    expect(await opacity()).toBe("0");
    await rows.first().getByRole("link").first().focus();
    expect(await opacity()).toBe("1");
    expect(await page.getByText("deployed last").count()).toBe(0);
  }
});

test("the bars of a change are one straight line", async () => {
  const { page, go } = await at(1440);
  await go("/activity");
  const bars = page.locator(".activity-row").first().locator(".rail > span");
  await bars.first().waitFor();
  const boxes = await Promise.all((await bars.all()).map(boxOf));
  expect(new Set(boxes.map(({ y }) => y)).size).toBe(1);
});

test("the stages of a task are a strip, and a time stands on the line of its state", async () => {
  const { page, go } = await at(1440);
  await go(`/tasks/${failedTaskId}`);
  const strip = page.getByRole("list", { name: "Stages" });
  expect((await boxOf(strip)).height).toBeLessThanOrEqual(48);
  const build = strip.getByRole("listitem").first();
  const baselines = await build.evaluate((stage) =>
    [".state", ".stage-time"].map((part) => {
      const place = stage.querySelector(part) as HTMLElement;
      const mark = document.createElement("span");
      mark.style.cssText = "display: inline-block; width: 1px; height: 0";
      place.append(mark);
      return Math.round(mark.getBoundingClientRect().bottom * 10) / 10;
    }),
  );
  expect(Math.abs((baselines[0] ?? 0) - (baselines[1] ?? 9))).toBeLessThan(0.6);
});

test("what serves is marked beside its release", async () => {
  const { page, go } = await at(1440);
  await go(`/projects/${shopId}/releases`);
  const mark = page.locator("td .mark-word").first();
  await mark.waitFor();
  const commit = await boxOf(page.locator("tr", { has: mark }).locator(".commit-line"));
  expect(Math.abs((await boxOf(mark)).middle - commit.middle)).toBeLessThan(6);
});

test("a project that was opened before has its name while it loads, and each page a heading", async () => {
  const { page, go } = await at(1440);
  await go(`/projects/${shopId}`);
  await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
  await page.route(`**/api/projects/${shopId}`, () => {});
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "shop" }).waitFor();
  expect(await page.title()).toBe("shop · Slipway");
  await page.route("**/api/tasks/*", () => {});
  await page.goto(`${server.url}/tasks/${failedTaskId}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
});

test("tabs stand below the title of their page", async () => {
  const { page, go } = await at(1440);
  for (const path of ["/users", "/groups", "/account", "/tokens"]) {
    await go(path);
    const tabs = page.getByRole("navigation", { name: /^(People|Account)$/ });
    expect((await boxOf(tabs)).y).toBeGreaterThan((await boxOf(page.locator("h1"))).bottom);
  }
});

test("the chosen tab of Activity is no filter", async () => {
  const { page, go } = await at(1440);
  await go("/activity?show=stopped");
  const field = page.getByRole("combobox", { name: "Filter" });
  await field.waitFor();
  expect(await field.inputValue()).toBe("");
  await page.getByRole("button", { name: "Filters", exact: true }).waitFor();
  await field.fill("status:ignored");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/activity?show=stopped&outcome=ignored");
  await field.fill("show:all");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/activity?show=all");
});

test("on the machine of the server a service without a public address has a link to its port", async () => {
  const repository = await makeRepository();
  await repository.push({ "readme.md": "hello" }, { message: "Serve" });
  const id = await server.project(
    repository.url,
    {},
    { name: "local", pipeline: { start: { web: { command: "echo listens at $PORT; exec sleep 300" } } } },
  );
  await server.reach((await server.run(id)).id, "success");
  const { page, go } = await at(1440);
  await go(`/projects/${id}`);
  const link = page.getByRole("link", { name: /^web on port \d+/ });
  await link.waitFor();
  const [port] = /\d+$/.exec((await link.textContent()) ?? "") ?? [];
  expect(await link.getAttribute("href")).toBe(`http://${new URL(server.url).hostname}:${port}/`);
  await repository.remove();
});
