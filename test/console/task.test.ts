import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { becomesLive, openConsole } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";
import { makeRepository } from "../support/git-repository.ts";
import { pick } from "../support/length.ts";
import { pageTasks } from "../support/page-tasks.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const gate = temporaryFolder("gate");

const { browser, server } = await setUpConsole();
const repository = await makeRepository();
await repository.push({ "readme.md": "hello" });
afterAll(() => repository.remove());

/** A script that writes a numbered line each time a gate is opened. */
function gated(name: string, count: number): string {
  const steps = Array.from(
    { length: count },
    (_, step) => `while [ ! -f ${gate}/${name}-${step} ]; do sleep 0.05; done; echo line ${step}`,
  );
  return steps.join("\n");
}

function open(name: string, step: number): void {
  writeFileSync(join(gate, `${name}-${step}`), "");
}

function line(page: Page, text: string) {
  return page.locator(".log-text", { hasText: new RegExp(`^${text}$`) });
}

test("the log of a running task appears line by line, and a run by hand leads to it", async () => {
  const projectId = await server.project(repository.url, { build: gated("live", 4) });
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/projects/${projectId}`);
  await becomesLive(page);
  await page.getByRole("button", { name: "Start a deploy" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Start the deploy" }).click();
  await page.waitForURL("**/tasks/*");
  for (let step = 0; step < 4; step++) {
    expect(await line(page, `line ${step}`).count()).toBe(0);
    open("live", step);
    await line(page, `line ${step}`).waitFor();
  }
  await page.locator('.task-facts .state[data-state="success"]').waitFor();
  await page.getByRole("button", { name: "Run again" }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test("the log shows the stage of its lines, and a stage links to its first line", async () => {
  const projectId = await server.project(repository.url, {
    build: "seq 1 300",
    deploy: "echo copying; seq 1 300",
  });
  const task = await server.run(projectId);
  await server.reach(task.id, "success");
  const { page, go, close } = await openConsole(browser, server.url);
  await go(`/tasks/${task.id}`);
  await page.locator(".log-stage", { hasText: "build" }).waitFor();
  expect(await page.locator(".log-stage").allTextContents()).toEqual(["checkout", "build"]);
  await page.getByRole("list", { name: "Stages" }).getByRole("link", { name: "deploy" }).click();
  const first = page.locator('.log-line[data-marked="true"]');
  await first.waitFor();
  expect(await first.locator(".log-text").allTextContents()).toEqual(["copying"]);
  await close();
});

test("100,000 lines: searched, linked to, and scrolled with few of them on the page", async () => {
  const lines = 100_000;
  const script = `awk 'BEGIN { for (i = 1; i <= ${lines}; i++) printf "\\033[3%dmstep %d\\033[0m of many, some text to fill the line\\n", i % 7 + 1, i }'`;
  const projectId = await server.project(repository.url, { build: script });
  const task = await server.run(projectId);
  await server.reach(task.id, "success");
  const { page, go, close } = await openConsole(browser, server.url);
  await go(`/tasks/${task.id}#L90000`);
  await page.locator(".log-foot", { hasText: "lines" }).waitFor();
  await page
    .locator('.log-line[data-marked="true"] .log-number', { hasText: "90000" })
    .waitFor({ timeout: 60_000 });
  await page.locator(".log-foot", { hasText: /^100,0\d\d lines$/ }).waitFor({ timeout: 60_000 });
  await page.getByLabel("Search the log").fill("step 54321 ");
  await page.getByText("1 of 1 lines").waitFor();
  await page.getByRole("button", { name: "Next match" }).click();
  await page.locator("mark", { hasText: "step 54321" }).first().waitFor();
  await page.getByLabel("Search the log").fill("");

  // The best of three, because a single collection of garbage decides how long the longest task takes.
  const scrolls = [];
  while (scrolls.length < 3) scrolls.push(await pageTasks(page, () => scrollThrough(page)));
  expect(await page.locator(".log-line").count()).toBeLessThan(150);
  expect(await heapBytes(page)).toBeLessThan(20 * 1024 * 1024);
  for (const tasks of scrolls) expect(tasks.length).toBeGreaterThan(100);
  // Twice the figure of the long form: a daily run shares caches and cores.
  const longest = scrolls.map((tasks) => Math.max(...tasks));
  expect(Math.min(...longest)).toBeLessThan(pick(100, 50));
  await close();
}, 180_000);

/** JavaScript heap of the page, without garbage. */
async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.enable");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}

/** Scrolls through the whole log, a step in each frame. */
function scrollThrough(page: Page): Promise<void> {
  return page.evaluate(async () => {
    const scroller = document.querySelector(".log-scroll");
    if (scroller === null) throw new Error("there is no log");
    const frames = 120;
    for (let frame = 0; frame <= frames; frame++) {
      scroller.scrollTop = (scroller.scrollHeight * frame) / frames;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  });
}

test("the duration of a running task stands still while the server is away; it is canceled after a question, and run again", async () => {
  const projectId = await server.project(repository.url, { build: gated("cancel", 1) });
  const task = await server.run(projectId);
  const { page, go, close } = await openConsole(browser, server.url);
  await go(`/tasks/${task.id}`);
  await page.locator('.task-facts .state[data-state="running"]').waitFor();
  const duration = page.locator(".task-facts .figures").first();
  await page.context().setOffline(true);
  await page.getByText("The server cannot be reached").waitFor();
  // An answer that was on its way counts, so that the first text may be followed by one more.
  await eventually("the duration stands still", async () => {
    const shown = await duration.textContent();
    await Bun.sleep(2500);
    return (await duration.textContent()) === shown;
  });
  await page.context().setOffline(false);
  await page.getByText("The server cannot be reached").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the task" }).click();
  await page.locator('.task-facts .state[data-state="canceled"]').waitFor();
  open("cancel", 0);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Start the task" }).click();
  await page.waitForURL((address) => address.pathname !== `/tasks/${task.id}`);
  await page.locator('.task-facts .state[data-state="success"]').waitFor();
  await close();
});

test("a task that builds the project's branch for a push to another one says which", async () => {
  const projectId = await server.project(repository.url, { build: "true" });
  const webhook = { enabled: true, provider: "generic", refSource: "project", debounceSeconds: 0 };
  const { url } = await server.admin.expect<{ url: string }>(
    200,
    "PUT",
    `/api/projects/${projectId}/webhook`,
    webhook,
  );
  const push = { event: "push", ref: "refs/heads/feature/basket", author: "ann" };
  const response = await fetch(new URL(new URL(url).pathname, server.url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(push),
  });
  const { taskId } = (await response.json()) as { taskId: number };
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/tasks/${taskId}`);
  await page.getByText("pushed by ann to feature/basket").waitFor();
  expect(faults).toEqual([]);
  await close();
});

test("the log of a failed task opens at the line that says why", async () => {
  const build =
    "seq 2000; echo 'FAIL src/cart.test.js'; echo 'Error: expected 4, received 3'; seq 2000; exit 1";
  const projectId = await server.project(repository.url, { build });
  const { id } = await server.reach((await server.run(projectId)).id, "failed");
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/tasks/${id}`);
  await page.locator(".first-error").getByText("Error: expected 4, received 3").waitFor();
  await page.locator(".log-line", { hasText: "Error: expected 4, received 3" }).waitFor();
  expect(faults).toEqual([]);
  await close();
});
