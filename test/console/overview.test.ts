import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { violations } from "../support/axe.ts";
import { copyProject } from "../support/bulk-projects.ts";
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

interface Load {
  requests: string[];
  bytes: number;
}

/** What a page asks for until its content is there. */
async function loadOf(page: Page, open: () => Promise<void>): Promise<Load> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const requests: string[] = [];
  let bytes = 0;
  session.on("Network.requestWillBeSent", ({ request }) => requests.push(new URL(request.url).pathname));
  session.on("Network.loadingFinished", ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await open();
  await becomesLive(page);
  await session.detach();
  return { requests, bytes };
}

test("a cold overview of 300 projects takes at most 6 requests and 250 KB, and does not shift", async () => {
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

test("broken projects come first, with what serves, the last runs and how they went", async () => {
  const { page, go, close } = await openConsole(browser, server.url);
  await go("/");
  const rows = page.getByRole("table", { name: "Projects" }).locator("tbody tr");
  const first = rows.first();
  await first.getByRole("link", { name: "aa broken" }).waitFor();
  expect(await first.getAttribute("data-broken")).toBe("true");
  await first.locator('.state[data-state="failed"]').waitFor();
  await page.getByText("300 projects, 1 broken, 0 in progress").waitFor();
  const served = rows.filter({ hasText: "zz fine" });
  await served.getByText("by admin").waitFor();
  await served.getByRole("img", { name: "Last 1 runs: 1 succeeded, 0 failed" }).waitFor();
  await page.getByRole("list", { name: "Recent deploys" }).getByRole("link", { name: "zz fine" }).waitFor();
  await becomesLive(page);
  const again = await server.run(broken);
  await first
    .locator('.state[data-state="running"], .state[data-state="queued"], .state[data-state="failed"]')
    .waitFor();
  await server.reach(again.id, "failed");
  await first.getByRole("img", { name: "Last 2 runs: 0 succeeded, 2 failed" }).waitFor();
  await close();
});

test("projects that never ran are folded; the overview is filtered by state and group, and failed deploys are listed", async () => {
  const { id: groupId } = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", {
    name: "Storefront",
  });
  await server.admin.expect(200, "PATCH", `/api/projects/${fine}`, { groupId });
  const { page, faults, go, close } = await openConsole(browser, server.url);
  await go("/");
  const rows = page.getByRole("table", { name: "Projects" }).locator("tbody tr");
  await rows.filter({ hasText: "zz fine" }).waitFor();
  expect(await rows.count()).toBe(3);
  const deploys = page.getByRole("list", { name: "Recent deploys" }).getByRole("listitem");
  await deploys.filter({ hasText: "aa broken" }).first().getByText("failed").waitFor();
  await page.getByRole("link", { name: "Add a project" }).waitFor();
  const folded = page.getByRole("button", { name: "297 projects never ran. Show" });
  await folded.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/?state=never_ran");
  await rows.nth(49).waitFor();
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await folded.waitFor();
  await page.getByRole("combobox", { name: "State" }).click();
  await page.getByRole("option", { name: "broken" }).click();
  await page.waitForURL("**/?state=broken");
  await rows.filter({ hasText: "zz fine" }).waitFor({ state: "detached" });
  expect(await rows.count()).toBe(1);
  await go(`/?groupId=${groupId}`);
  await rows.filter({ hasText: "zz fine" }).waitFor();
  expect(await rows.count()).toBe(1);
  expect(await violations(page)).toEqual([]);
  await go(`/?groupId=${groupId}&state=broken`);
  await page.getByText("No project matches the filter").waitFor();
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
  await page.getByRole("row").filter({ hasText: "nothing ran" }).waitFor();
  await close();
});

test("a page beyond the end of a list shows its last page, and a missing project has a heading", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  for (const [path, last] of [
    ["/projects?page=99999", "15"],
    ["/?state=never_ran&page=99999", "6"],
    ["/tasks?page=99999999999", "1"],
  ] as const) {
    await go(path);
    await page.waitForURL((url) => url.searchParams.get("page") === last);
    await page.locator("tbody tr").first().waitFor();
  }
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
  for (const width of [1440, 850, 390]) {
    await page.setViewportSize({ width, height: 860 });
    for (const path of ["/", `/tasks/${deployed.id}`, `/projects/${fine}/releases`, "/tasks"]) {
      await go(path);
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
        [...cell.querySelectorAll("a, .mono, .now *")].some(
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
  for (const path of ["/", "/projects"]) {
    await page.route(isApi, (route) => route.abort());
    await page.goto(server.url + path);
    await page.getByText("The server does not answer").waitFor();
    await page.unroute(isApi);
    await page.locator("tbody tr").first().waitFor();
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
  const cold = await openConsole(browser, server.url);
  const { requests, bytes } = await loadOf(cold.page, async () => {
    await cold.page.goto(server.url);
    await cold.page.getByRole("table", { name: "Projects" }).waitFor();
  });
  expect(requests.length, requests.join(" ")).toBeLessThanOrEqual(6);
  expect(bytes).toBeLessThanOrEqual(260_000);
  await cold.close();
  await go("/");
  await page.getByText("1,000 projects, 1 broken, 0 in progress").waitFor();
  await go("/?state=never_ran&page=20");
  await page.getByRole("table", { name: "Projects" }).locator("tbody tr").nth(46).waitFor();

  await go("/projects");
  await page.getByRole("searchbox", { name: "Name" }).fill(name);
  await row.getByRole("link", { name }).click();
  await page.getByRole("heading", { name }).waitFor();
  const projectId = Number(new URL(page.url()).pathname.split("/")[2]);
  await go("/projects?page=50");
  await page.locator("tbody tr").nth(19).waitFor();

  const webhook = { enabled: true, provider: "generic", events: ["tag"] };
  const hook = await server.admin.expect<{ url: string }>(
    ...([200, "PUT", `/api/projects/${projectId}/webhook`, webhook] as const),
  );
  await fetch(hook.url, { method: "POST", body: JSON.stringify({ event: "push", ref: "refs/heads/main" }) });
  const task = await server.run(projectId);
  await server.reach(task.id, "success");

  // Deep links and lists, for the project that is on no first page.
  for (const path of ["/tasks", "/deliveries", `/tasks?projectId=${projectId}`]) {
    await go(path);
    await row.first().waitFor();
  }
  await go(`/deliveries?projectId=${projectId}`);
  await page.getByRole("button", { name: "Filters (1 active)" }).click();
  const picker = page.getByRole("combobox", { name: "Project" });
  await eventually("the filter shows the name", async () => (await picker.inputValue()) === name);
  await row.first().waitFor();
  await go(`/tasks/${task.id}`);
  await page.getByRole("main").getByRole("link", { name }).first().waitFor();
  await go(`/projects/${projectId}/settings`);
  await page.getByText(name).first().waitFor();

  // A filter and the search ask the server.
  await go("/tasks");
  await page.getByRole("button", { name: "Filters", exact: true }).click();
  await picker.click();
  await picker.fill("0999");
  await page.getByRole("option", { name }).click();
  await page.waitForURL(`**/tasks?projectId=${projectId}`);
  await row.first().waitFor();
  await page.keyboard.press("Control+K");
  await page.getByRole("combobox", { name: "Search" }).fill("0999");
  await page.getByRole("option", { name: `Projects: ${name}` }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/projects/${projectId}`);

  // The project that ran last is on the first page of the overview now, and changes of it are shown live.
  await go("/");
  await row.getByRole("img", { name: "Last 1 runs: 1 succeeded, 0 failed" }).waitFor();
  await becomesLive(page);
  const again = await server.run(projectId);
  await server.reach(again.id, "success");
  await row.getByRole("img", { name: "Last 2 runs: 2 succeeded, 0 failed" }).waitFor();
  expect(faults).toEqual([]);
  await close();
}, 180_000);
