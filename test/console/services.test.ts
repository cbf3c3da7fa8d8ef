import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { userPassword } from "../support/api-server.ts";
import { violations } from "../support/axe.ts";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { becomesLive, inScheme, openConsole } from "../support/console-page.ts";
import { openServerFile } from "../support/server-file.ts";
import { answerOutput } from "../support/service-output.ts";
import { startServiceScene } from "../support/service-scene.ts";

const [browser, scene] = await Promise.all([startBrowser(), startServiceScene({}, undefined, "start")]);
const output = answerOutput(scene);
const { server, report, service, runner, claimNow } = scene;
const shop = await scene.deployed(["web", "worker"], { name: "shop" });
/** As the runner does every ten seconds. */
let reported = [service(shop), service(shop, { name: "worker", port: null })];
const reporting = setInterval(() => void report(...reported), 5000);
afterAll(async () => {
  clearInterval(reporting);
  await closeBrowser(browser);
  await server.stop();
});

async function nowIs(...changes: Parameters<typeof service>[1][]): Promise<void> {
  reported = changes.map((change) => service(shop, change));
  await report(...reported);
}

/** As the server keeps them; a gap of two hours is one. */
function addDayOfSamples(): void {
  using database = openServerFile(server.dataDir);
  const add = database.prepare("insert into service_samples values (?, 'web', ?, ?, ?)");
  for (let minutes = 24 * 60; minutes > 0; minutes -= 5) {
    if (minutes > 600 && minutes < 720) continue;
    const wave = Math.sin(minutes / 90);
    add.run(shop.projectId, Date.now() - minutes * 60_000, 40_000_000 + 8_000_000 * wave, 0.2 + 0.15 * wave);
  }
}

const stateIn = (page: Page, state: string) => page.locator(`.service .state[data-state="${state}"]`);
const lines = (page: Page) => page.locator(".log-line .log-text");
const fits = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

test("a project opens on its services, which change while one looks, and each has a page", async () => {
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/projects/${shop.projectId}`);
  const list = page.getByRole("table", { name: "Services" });
  await list.locator("tr", { hasText: "web" }).getByText("serving").waitFor();
  // Above all else of the page.
  const heads = page.locator("main :is(.panel-head h2, section.service)");
  expect(await heads.first().textContent()).toBe("Services");
  await becomesLive(page);
  await nowIs({}, { name: "worker", state: "down", lastExit: "1", lastLines: "no database" });
  const worker = list.locator("tr", { hasText: "worker" });
  await worker.locator('.state[data-state="down"]').waitFor();
  await worker.getByText("It ended by itself and is not started again. Last exit: 1.").waitFor();
  expect(await violations(page)).toEqual([]);
  await worker.getByRole("link", { name: "worker" }).click();
  await page.waitForURL(`**/projects/${shop.projectId}/services/worker`);
  await stateIn(page, "down").waitFor();
  await page.getByText("no database").waitFor();
  await page.getByRole("button", { name: "Start", exact: true }).waitFor();
  expect(await page.getByRole("button", { name: "Stop", exact: true }).count()).toBe(0);
  await go(`/projects/${shop.projectId}/services/nothing`);
  await page.getByText("There is no service nothing").waitFor();
  expect(faults).toEqual([]);
  await close();
  await nowIs({}, { name: "worker" });
}, 120_000);

test("the output is followed live, read backwards and searched; marks say where a release or a start began", async () => {
  output.mark("release", shop.taskId);
  output.write(...Array.from({ length: 1200 }, (_, index) => `request ${index} served`));
  output.mark("start", shop.taskId);
  output.write("\u001b[31mlisten\u001b[0m on 20000");
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/projects/${shop.projectId}/services/web`);
  await lines(page).getByText("listen on 20000").waitFor();
  await page.locator(".log-mark", { hasText: "Started" }).waitFor();
  output.write("a line that arrives later");
  await lines(page).getByText("a line that arrives later").waitFor();
  await page.getByText("501 lines shown").waitFor();
  expect(await violations(page)).toEqual([]);
  // Backwards, page by page, to the beginning.
  const scroller = page.locator(".log-scroll");
  for (const shown of [1001, 1202]) {
    await scroller.evaluate((element) => element.scrollTo({ top: 0 }));
    await page.getByRole("button", { name: "Earlier" }).click();
    await page.getByText(`${shown.toLocaleString("en")} lines shown`).waitFor();
  }
  await page.getByText("Paused: press Follow to continue.").waitFor();
  await scroller.evaluate((element) => element.scrollTo({ top: 0 }));
  await lines(page).getByText("request 0 served").waitFor();
  await page.getByText("The output that is kept begins here").waitFor();
  const release = page.getByRole("link", { name: `Release of task ${shop.taskId}` });
  expect(await release.getAttribute("href")).toBe(`/tasks/${shop.taskId}`);
  // What is written while it is paused comes with the next press.
  output.write("written while paused");
  await page.getByRole("button", { name: "Follow" }).click();
  await lines(page).getByText("written while paused").waitFor();
  await page.getByRole("searchbox", { name: "Search the output" }).fill("REQUEST 77");
  await page.keyboard.press("Enter");
  await page.getByText("11 lines shown").waitFor();
  expect(await lines(page).first().textContent()).toBe("request 77 served");
  await page.getByRole("searchbox", { name: "Search the output" }).fill("nowhere");
  await page.keyboard.press("Enter");
  await page.getByText("No line contains this text.").waitFor();
  expect(faults).toEqual([]);
  await close();
}, 120_000);

test("a person stops a service after a question, and starts it again; the task is linked", async () => {
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/projects/${shop.projectId}/services/web`);
  await becomesLive(page);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("It stays stopped until a person or a deploy starts it.").waitFor();
  await page.getByRole("button", { name: "Stop the service" }).click();
  await page.getByText("Your last action:").waitFor();
  const stop = await runner.claim();
  if (!stop) throw new Error("there is no task");
  expect(stop.action).toEqual({ type: "stop", services: ["web"] });
  // A stop has no stage.
  await runner.call("finish", stop, { state: "success", reason: "" });
  await nowIs({ state: "stopped", port: null, memoryBytes: null, cpu: null }, { name: "worker" });
  await stateIn(page, "stopped").waitFor();
  await page.getByText("A person stopped it.").waitFor();
  const task = page.getByRole("status").getByRole("link", { name: /^task \d+/ });
  await task.getByText("success").waitFor();
  expect(await task.getAttribute("href")).toBe(`/tasks/${stop.taskId}`);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByText(/Task \d+ starts web\./).waitFor();
  const start = await claimNow();
  expect(start?.action).toEqual({ type: "start", services: ["web"] });
  if (start) await runner.call("finish", start, { state: "success", reason: "" });
  await nowIs({}, { name: "worker" });
  await stateIn(page, "serving").waitFor();
  await task.click();
  await page.waitForURL(`**/tasks/${start?.taskId}`);
  await page.locator(".task-facts").getByText("start web").waitFor();
  await go(`/projects/${shop.projectId}`);
  const stopped = page
    .getByRole("list", { name: "Last changes" })
    .getByRole("listitem")
    .filter({ has: page.getByRole("link", { name: "stop web", exact: true }) });
  await stopped.locator('.state[data-tone="success"]').waitFor();
  await go("/audit");
  await page.getByText("service: stopped", { exact: true }).first().waitFor();
  expect(faults).toEqual([]);
  await close();
}, 120_000);

test("who may only view a project reads the output and cannot stop anything", async () => {
  const ann = await server.newUser("ann");
  await server.admin.expect(200, "PUT", `/api/projects/${shop.projectId}/members/${ann.id}`, {
    permission: "view",
  });
  const { page, go, close } = await openConsole(browser, server.url, undefined, {
    ...{ username: "ann", password: userPassword },
  });
  await go(`/projects/${shop.projectId}/services/web`);
  await stateIn(page, "serving").waitFor();
  await lines(page).first().waitFor();
  for (const name of ["Start", "Stop", "Restart"])
    expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
  await close();
}, 60_000);

test("the page fits a phone in both schemes and languages, with figures of the last day", async () => {
  addDayOfSamples();
  await nowIs(
    { restarts: 3, lastExit: "SIGKILL", memoryBytes: 48_000_000, cpu: 0.12, lastLines: "out of memory" },
    { name: "worker" },
  );
  for (const locale of ["en", "zh-CN"]) {
    const phone = { viewport: { width: 390, height: 844 }, locale };
    const { page, go, faults, close } = await openConsole(browser, server.url, phone);
    await go(`/projects/${shop.projectId}/services/web`);
    await lines(page).first().waitFor();
    expect(await page.locator(".usage polyline").count()).toBe(4);
    for (const scheme of ["light", "dark"] as const) {
      await inScheme(page, scheme);
      expect(await fits(page)).toBe(true);
      expect(await violations(page)).toEqual([]);
    }
    await go(`/projects/${shop.projectId}`);
    await page.locator('.list-table .state[data-state="serving"]').first().waitFor();
    expect(await fits(page)).toBe(true);
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
    await close();
  }
}, 120_000);

test("a runner that is away is said to be away, and nothing is said to serve", async () => {
  clearInterval(reporting);
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/projects/${shop.projectId}/services/web`);
  await stateIn(page, "serving").waitFor();
  {
    using database = openServerFile(server.dataDir);
    database.exec("update services set reported_at = reported_at - 60000");
  }
  await stateIn(page, "unknown").waitFor();
  await page.getByText(/^Runner by hand is away since 1 min\. ago\./).waitFor();
  expect(await page.getByRole("button", { name: "Stop", exact: true }).count()).toBe(0);
  await page.getByRole("alert").getByText("The runner by hand is away").waitFor();
  expect(await violations(page)).toEqual([]);
  await go(`/projects/${shop.projectId}`);
  await page.locator('.list-table .state[data-state="unknown"]').first().waitFor();
  expect(await page.locator('section.service .state[data-state="serving"]').count()).toBe(0);
  expect(faults).toEqual([]);
  await close();
}, 120_000);

test("a project shows what it takes on the disk, and warns with a link to the limit", async () => {
  const { page, go, close } = await openConsole(browser, server.url);
  const { projectId } = await scene.deployed(["web"], { name: "full", limits: { diskMb: 100 } });
  const use = { projectId, releasesBytes: 60 * 1024 ** 2, dataBytes: 31 * 1024 ** 2, quotaBytes: null };
  await runner.post("services", { services: reported, disk: [use] });
  await go(`/projects/${projectId}`);
  await page.getByText("60.0 MB releases, 31.0 MB data, of 100.0 MB").waitFor();
  const note = page.locator(".note", { hasText: "take 91 % of the 100 MB" });
  if ((await note.locator("summary").count()) > 0) await note.locator("summary").click();
  const warning = note.locator("li, :scope").filter({ hasText: "take 91 %" }).last();
  await warning.getByRole("link", { name: "Open the settings" }).click();
  await page.waitForURL(`**/projects/${projectId}/settings/pipeline#execution`);
  await close();
});
