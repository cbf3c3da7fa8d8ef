import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { violations } from "../support/axe.ts";
import { copyProject } from "../support/bulk-projects.ts";
import { loadOf } from "../support/cold-load.ts";
import { becomesLive, openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";
import { makeRepository } from "../support/git-repository.ts";

const projectCount = 300;
const { browser, server } = await setUpConsole();
const repository = await makeRepository();
await repository.push({ "readme.md": "hello" }, { message: `Fix the ${"unbroken".repeat(60)} name` });
afterAll(() => repository.remove());

/** Two that ran, and many that did not. */
const broken = await server.project(
  repository.url,
  { build: "echo compiling; echo 'error: no such module'; exit 3" },
  { name: "aa broken" },
);
const empty = await server.project(repository.url, {}, { name: "ab empty" });
const fine = await server.project(
  repository.url,
  { build: "true", deploy: "echo deployed" },
  { name: "zz fine" },
);
/** Adds projects until there are so many; each is named by its number. */
function addServices(from: number, to: number): void {
  const names = Array.from({ length: to - from }, (_, index) => serviceName(from + index + 1));
  copyProject(server.dataDir, empty, names);
}
const serviceName = (number: number) => `service ${String(number).padStart(4, "0")}`;
addServices(3, projectCount);
const failed = await server.run(broken);
const nothing = await server.run(empty);
await server.reach(failed.id, "failed");
await server.reach(nothing.id, "success");
const deployed = await server.run(fine);
await server.reach(deployed.id, "success");

test("a cold Home of 300 projects takes at most 6 requests and 250 KB, and does not shift", async () => {
  const { page, faults, close } = await openConsole(browser, server.url);
  await page.addInitScript(() => {
    const shifts: number[] = [];
    Object.assign(globalThis, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
    }).observe({ type: "layout-shift", buffered: true });
  });
  const { requests, bytes } = await loadOf(page, async () => {
    await page.goto(server.url);
    await page.getByRole("table", { name: "Projects" }).waitFor();
  });
  expect(requests.length, requests.join(" ")).toBeLessThanOrEqual(6);
  expect(bytes).toBeLessThanOrEqual(250 * 1024);
  const shifts = await page.evaluate(() => (globalThis as unknown as { shifts: number[] }).shifts);
  expect(shifts.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(0.02);
  expect(faults).toEqual([]);
  await close();
});

test("a failed deploy needs a person until the next one succeeds; projects are one line each, broken ones first", async () => {
  await server.admin.expect(200, "PATCH", `/api/projects/${fine}`, { publicUrl: "https://fine.example.com" });
  const { page, faults, go, close } = await openConsole(browser, server.url);
  await go("/");
  const needs = page.getByRole("region", { name: "Needs you" }).getByRole("listitem");
  const need = needs.filter({ hasText: "The last deploy of aa broken failed" });
  // A task has one time wherever it is shown: that of its end.
  const { finishedAt } = await server.task(failed.id);
  const isEnd = (place: typeof needs) => place.locator(`time[datetime="${finishedAt}"]`).waitFor();
  await isEnd(need);
  const rows = page.getByRole("table", { name: "Projects" }).locator("tbody tr");
  const first = rows.first();
  await first.getByRole("link", { name: "aa broken" }).waitFor();
  await first.locator('.state[data-state="failed"]').waitFor();
  await isEnd(first);
  const served = rows.filter({ hasText: "zz fine" });
  await served.getByText("not checked").waitFor();
  await served.getByText("by admin").waitFor();
  expect(await served.getByRole("link", { name: "Visit" }).getAttribute("href")).toBe(
    "https://fine.example.com",
  );
  expect(await first.getByRole("link", { name: "Visit" }).count()).toBe(0);
  for (const path of ["/activity", `/projects/${broken}`]) {
    await go(path);
    await isEnd(page.locator(".activity-row").filter({ has: page.locator(`a[href="/tasks/${failed.id}"]`) }));
  }
  await go("/");
  await need.getByRole("link").focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/tasks/${failed.id}`);
  await page.waitForFunction(() => document.title.endsWith(" · aa broken · Slipway"));
  await page.getByRole("heading", { level: 1 }).getByRole("link", { name: "aa broken" }).click();
  await page.waitForURL(`**/projects/${broken}`);

  // Live: another failure, then a success. Then nothing needs anybody.
  await go("/");
  await becomesLive(page);
  const again = await server.run(broken);
  await server.reach(again.id, "failed");
  await needs.locator(`a[href="/tasks/${again.id}"]`).waitFor();
  const stages = { build: { script: "true" }, deploy: { script: "true" } };
  await server.admin.expect(200, "PATCH", `/api/projects/${broken}`, { stages });
  await server.reach((await server.run(broken)).id, "success");
  await page.getByText("Nothing needs you.").waitFor();
  expect(await needs.count()).toBe(0);
  expect(faults).toEqual([]);
  await close();
});

test("Home is filtered by name and group, also by an address of the earlier list of projects", async () => {
  const { id: groupId } = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", {
    name: "Storefront",
  });
  await server.admin.expect(200, "PATCH", `/api/projects/${fine}`, { groupId });
  const { page, faults, go, close } = await openConsole(browser, server.url);
  await go("/");
  const rows = page.getByRole("table", { name: "Projects" }).locator("tbody tr");
  await rows.nth(49).waitFor();
  const filter = page.getByRole("searchbox", { name: "Filter by name" });
  await filter.fill("0123");
  await rows.filter({ hasText: "aa broken" }).waitFor({ state: "detached" });
  await rows.filter({ hasText: "service 0123" }).waitFor();
  expect(await rows.count()).toBe(1);
  expect(await violations(page)).toEqual([]);
  await filter.fill("no such name");
  await page.getByText("No project matches the filter").waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await page.getByRole("combobox", { name: "Group" }).click();
  await page.getByRole("option", { name: "Storefront" }).click();
  await page.waitForURL(`**/?groupId=${groupId}`);
  await rows.filter({ hasText: "aa broken" }).waitFor({ state: "detached" });
  await rows.filter({ hasText: "zz fine" }).filter({ hasText: "Storefront" }).waitFor();
  expect(await rows.count()).toBe(1);
  await go("/projects?search=aa&page=1");
  await page.waitForURL("**/?search=aa&page=1");
  await rows.filter({ hasText: "zz fine" }).waitFor({ state: "detached" });
  await rows.filter({ hasText: "aa broken" }).waitFor();
  await go("/projects?add=1");
  await page.waitForURL("**/projects/new");
  expect(faults).toEqual([]);
  await close();
});

test("a run without scripts is no green success: nothing ran", async () => {
  const { page, go, close } = await openConsole(browser, server.url);
  await go(`/tasks/${nothing.id}`);
  const state = page.locator(".task-facts .state");
  await state.getByText("nothing ran").waitFor();
  expect(await state.getAttribute("data-tone")).toBe("waiting");
  await page.getByText("no stage of the project has a script").waitFor();
  await go(`/projects/${empty}`);
  await page.getByRole("listitem").filter({ hasText: "nothing ran" }).waitFor();
  await close();
});

test("a page beyond the end of a list shows its last page, and a missing project has a heading", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  await go("/?page=99999");
  await page.waitForURL((url) => url.searchParams.get("page") === "6");
  await page.locator("tbody tr").first().waitFor();
  for (const path of ["/projects/999999", "/tasks/999999"]) {
    await page.goto(server.url + path);
    await page.getByRole("alert").waitFor();
    expect(await page.locator("h1").count()).toBe(1);
  }
  expect(faults).toEqual([]);
  await close();
});

test("long commit messages stay inside their boxes", async () => {
  const { page, go, close } = await openConsole(browser, server.url);
  for (const path of ["/", `/tasks/${deployed.id}`, `/projects/${fine}/releases`, "/activity"]) {
    await go(path);
    for (const width of [1440, 850, 390]) {
      await page.setViewportSize({ width, height: 860 });
      await page.locator("[title*=unbroken]").first().waitFor({ state: "attached" });
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
    }
  }
  await close();
});

test("beside the navigation of a tablet, each cell shows its text inside its column", async () => {
  const { page, go, close } = await openConsole(browser, server.url, {
    viewport: { width: 820, height: 1000 },
  });
  for (const [path, table] of [
    ["/", "Projects"],
    [`/projects/${fine}/releases`, "Releases"],
  ] as const) {
    await go(path);
    const cells = page.getByRole("table", { name: table }).locator("tbody td:visible");
    await cells.first().waitFor();
    const spilled = await cells.evaluateAll((all) =>
      all.filter((cell) =>
        [...cell.querySelectorAll("a, .mono, .state")].some(
          (part) => part.getBoundingClientRect().right > cell.getBoundingClientRect().right + 1,
        ),
      ),
    );
    expect(spilled).toHaveLength(0);
  }
  await go("/");
  const name = page.getByRole("link", { name: "aa broken", exact: true }).first();
  await name.waitFor();
  expect(await name.evaluate((link) => link.scrollWidth <= link.clientWidth)).toBe(true);
  await close();
});

test("a page first opened while the server does not answer recovers by itself", async () => {
  const { page, close } = await openConsole(browser, server.url);
  const isApi = (url: URL) => url.pathname.startsWith("/api/");
  for (const path of ["/", "/activity"]) {
    await page.route(isApi, (route) => route.abort());
    await page.goto(server.url + path);
    await page.getByText("The server does not answer").waitFor();
    await page.unroute(isApi);
    await page.locator("tbody tr, .activity-row").first().waitFor();
  }
  await close();
});

test("a notification covers no button, link or field", async () => {
  const { page, go, close } = await openConsole(browser, server.url, wide);
  for (const path of [`/projects/${fine}`, `/projects/${fine}/releases`]) {
    await go(path);
    await page.getByRole("button", { name: "Start a deploy" }).click();
    // The notification closes by itself, so the page looks for it from before its cause.
    const covered = coveredByNotification(page);
    await page.getByRole("dialog").getByRole("button", { name: "Start the deploy" }).click();
    await page.waitForURL("**/tasks/*");
    expect(await covered).toEqual([]);
  }
  await close();
});

/** What the next notification covers on the page of a task, after dialogs have closed. */
function coveredByNotification(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const isShown = () =>
      location.pathname.startsWith("/tasks/") && document.querySelector('[role="dialog"]') === null;
    let notification = null;
    while (notification === null) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      if (isShown()) notification = document.querySelector(".mantine-Notification-root");
    }
    const box = notification.getBoundingClientRect();
    const isUnder = (other: Element) => {
      const { left, right, top, bottom } = other.getBoundingClientRect();
      return left < box.right && right > box.left && top < box.bottom && bottom > box.top;
    };
    return [...document.querySelectorAll("main a[href], main button, main input, .side a, .side button")]
      .filter((other) => other.checkVisibility() && isUnder(other))
      .map((other) => other.outerHTML.slice(0, 120));
  });
}

test("with 1,000 projects, number 999 is found everywhere by its name", async () => {
  addServices(projectCount, 1000);
  const name = serviceName(999);
  const { page, faults, go, close } = await openConsole(browser, server.url, wide);
  const row = page.getByRole("row").filter({ hasText: name });
  const listed = page.locator(".activity-row").filter({ hasText: name });
  const cold = await openConsole(browser, server.url);
  const { requests, bytes } = await loadOf(cold.page, async () => {
    await cold.page.goto(server.url);
    await cold.page.getByRole("table", { name: "Projects" }).waitFor();
  });
  expect(requests.length, requests.join(" ")).toBeLessThanOrEqual(6);
  expect(bytes).toBeLessThanOrEqual(260_000);
  await cold.close();
  await go("/");
  await page.getByText("1–50 of 1,000").waitFor();
  await go("/?page=20");
  await page.getByRole("table", { name: "Projects" }).locator("tbody tr").nth(49).waitFor();

  await go("/");
  await page.getByRole("searchbox", { name: "Filter by name" }).fill(name);
  await row.getByRole("link", { name }).click();
  await page.getByRole("heading", { name }).waitFor();
  const projectId = Number(new URL(page.url()).pathname.split("/")[2]);
  const webhook = { enabled: true, provider: "generic", events: ["tag"] };
  const hook = await server.admin.expect<{ url: string }>(
    ...([200, "PUT", `/api/projects/${projectId}/webhook`, webhook] as const),
  );
  await fetch(hook.url, { method: "POST", body: JSON.stringify({ event: "push", ref: "refs/heads/main" }) });
  const task = await server.run(projectId);
  await server.reach(task.id, "success");

  // Deep links and lists, for the project that is on no first page.
  for (const path of ["/activity", "/activity?show=stopped", `/activity?projectId=${projectId}`]) {
    await go(path);
    await listed.first().waitFor();
  }
  await go(`/activity?projectId=${projectId}`);
  await page.getByRole("button", { name: "Filters (1 active)" }).click();
  const picker = page.getByRole("combobox", { name: "Project" });
  await eventually("the filter shows the name", async () => (await picker.inputValue()) === name);
  await listed.first().waitFor();
  await go(`/tasks/${task.id}`);
  await page.getByRole("main").getByRole("link", { name }).first().waitFor();
  await go(`/projects/${projectId}/settings`);
  await page.getByText(name).first().waitFor();

  // A filter and the search ask the server.
  await go("/activity");
  await page.getByRole("button", { name: "Filters", exact: true }).click();
  await picker.click();
  await picker.fill("0999");
  await page.getByRole("option", { name }).click();
  await page.waitForURL(`**/activity?projectId=${projectId}`);
  await listed.first().waitFor();
  await page.keyboard.press("Control+K");
  await page.getByRole("combobox", { name: "Search" }).fill("0999");
  await page.getByRole("option", { name: `Projects: ${name}` }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/projects/${projectId}`);

  // The project that ran last is on the first page of Home now.
  await go("/");
  await row.locator(`a[href="/tasks/${task.id}"]`).first().waitFor();
  expect(faults).toEqual([]);
  await close();
}, 180_000);
