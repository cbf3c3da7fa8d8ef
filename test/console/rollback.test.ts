import { afterAll, expect, test } from "bun:test";
import type { TaskJson } from "../../src/task/view/task-json.ts";
import { guardedProject } from "../support/approval-scene.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";

const { browser, server } = await setUpConsole();
const repository = await makeRepository();
await repository.push({ "readme.md": "hello" });
afterAll(() => repository.remove());

async function deploy(projectId: number, state: "success" | "failed") {
  const commit = await repository.push({}, { message: "a change" });
  const task = await server.reach((await server.run(projectId)).id, state);
  return { task, short: commit.slice(0, 7) };
}

test("the question before a rollback, and its page, show the settings that return with the release", async () => {
  const scripts = { deploy: "echo $COLOR" };
  const projectId = await server.project(repository.url, scripts, { env: { COLOR: "red" } });
  const first = await deploy(projectId, "success");
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
    env: { COLOR: "blue" },
    stages: { deploy: { script: "echo in $COLOR" } },
  });
  const second = await deploy(projectId, "success");
  // Of a repository at a host, the dialog leads to what the rollback takes back.
  const host = "https://github.com/ann/shop";
  const url = (to: string) =>
    server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { git: { url: to } });
  await url(`${host}.git`);
  const hosted = await openConsole(browser, server.url);
  await hosted.go(`/projects/${projectId}/releases`);
  await hosted.page.getByRole("button", { name: `Roll back to ${first.short}` }).click();
  const compare = hosted.page
    .getByRole("dialog")
    .getByRole("link", { name: "Changes since then, which go away" });
  expect(await compare.getAttribute("href")).toMatch(
    new RegExp(`^${host}/compare/${first.short}\\w*[.]{3}${second.short}\\w*$`),
  );
  await hosted.close();
  await url(repository.url);
  for (const [locale, button, confirm, value] of [
    ["zh-CN", /^回滚到/, null, "项目当前"],
    ["en-US", /^Roll back to/, "Start the rollback", "In the project now"],
  ] as const) {
    const { page, go, faults, close } = await openConsole(browser, server.url, { ...wide, locale });
    await go(`/projects/${projectId}/releases`);
    await page.getByRole("button", { name: button }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("columnheader", { name: value }).waitFor();
    const release = dialog.locator(".returning");
    expect(await release.locator(".commit-line").allInnerTexts()).toEqual([
      expect.stringMatching(new RegExp(`^main\\s+${first.short}\\s+a change$`)),
    ]);
    await release.locator("time").waitFor();
    const rows = await dialog.locator("tbody tr").allInnerTexts();
    expect(rows.map((row) => row.split("\t").map((cell) => cell.trim()))).toEqual([
      ["COLOR", "red", "blue"],
      [expect.stringContaining("deploy"), "echo $COLOR", "echo in $COLOR"],
    ]);
    if (confirm !== null) {
      const left = dialog.getByRole("region", { name: "These commits go away:" }).getByRole("listitem");
      expect(await left.allInnerTexts()).toEqual([
        expect.stringMatching(new RegExp(`main\\s+${second.short}\\s+a change`)),
      ]);
      await dialog.getByRole("button", { name: confirm }).click();
      await page.waitForURL("**/tasks/*");
      await page.locator('.task-facts .state[data-state="success"]').waitFor();
      await page.getByText(`uses the variables, scripts and checks of task ${first.task.id}`).waitFor();
      await go("/activity");
      await page.getByText(`rollback to task ${first.task.id}`).waitFor();
      for (const width of [820, 1024]) {
        await page.setViewportSize({ width, height: 844 });
        const overlapping = await page
          .locator("td")
          .evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).length);
        expect([width, overlapping]).toEqual([width, 0]);
      }
    }
    expect(faults).toEqual([]);
    await close();
  }
}, 60_000);

test("a task that was rolled back says what serves only while that serves", async () => {
  const start = (command: string) => ({ pipeline: { start: { web: { command, port: "none" } } } });
  const projectId = await server.project(repository.url, {}, start("exec sleep 300"));
  const startWith = (command: string) =>
    server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, start(command));
  const first = await deploy(projectId, "success");
  await startWith("exit 1");
  const second = await deploy(projectId, "failed");
  const { page, go, close } = await openConsole(browser, server.url);
  await go(`/tasks/${second.task.id}`);
  await page.getByText(`${second.short} failed; ${first.short} is serving again.`).waitFor();
  await startWith("exec sleep 300");
  await deploy(projectId, "success");
  await go(`/tasks/${second.task.id}`);
  await page
    .getByText(`${second.short} failed; ${first.short} was serving again when this task ended.`)
    .waitFor();
  expect(await page.getByText("is serving again.", { exact: false }).count()).toBe(0);
  await close();
}, 60_000);

test("the last output of a service that did not start keeps its lines", async () => {
  const command = "echo 'Error: no port'; echo '    at listen (server.js:3)'; exit 1";
  const pipeline = { start: { web: { command } } };
  const projectId = await server.project(repository.url, {}, { pipeline });
  const { task } = await deploy(projectId, "failed");
  const { page, go, close } = await openConsole(browser, server.url);
  await go(`/tasks/${task.id}`);
  const reason = page.locator(".task-reason");
  await reason.waitFor();
  const [shown] = await reason.allInnerTexts();
  expect(shown).toContain("Error: no port\n    at listen (server.js:3)");
  await close();
}, 60_000);

test("a wait for an approval ends in local time, is no part of the duration, and then the task is queued without a warning", async () => {
  const { id: projectId } = await guardedProject(server, { url: repository.url, dataDir: server.dataDir });
  const waiting = await server.reach((await server.run(projectId)).id, "waiting");
  const zone = { ...wide, locale: "en-US", timezoneId: "Asia/Shanghai" };
  const { page, go, close } = await openConsole(browser, server.url, zone);
  let changed: (task: TaskJson) => object = () => ({});
  await page.route(`**/api/tasks/${waiting.id}`, async (route) => {
    const response = await route.fetch();
    const task = (await response.json()) as TaskJson;
    await route.fulfill({ response, json: { ...task, ...changed(task) } });
  });
  /** Opens the page of the task with other values. */
  const goWith = async (next: typeof changed) => {
    changed = next;
    await go(`/tasks/${waiting.id}`);
  };
  const anHourEarlier = (at: string | null | undefined) =>
    new Date(Date.parse(at ?? "") - 3_600_000).toISOString();

  await go(`/tasks/${waiting.id}`);
  const until = new Intl.DateTimeFormat("en-US", {
    ...{ dateStyle: "medium", timeStyle: "short", timeZone: "Asia/Shanghai" },
  }).format(new Date(waiting.approval?.expiresAt ?? 0));
  const said = await page
    .getByText(/^Waiting for approval until/)
    .first()
    .textContent();
  expect(said?.replaceAll(/\s/g, " ")).toBe(`Waiting for approval until ${until.replaceAll(/\s/g, " ")}.`);

  const took = page.locator(".task-facts .figures").first();
  const built = await took.textContent();
  await goWith(({ startedAt, approval }) => ({
    startedAt: anHourEarlier(startedAt),
    approval: { ...approval, requestedAt: anHourEarlier(approval?.requestedAt) },
  }));
  expect(await took.textContent()).toBe(built);

  await goWith(() => ({
    state: "queued",
    reason: "approved by admin",
    reasonParts: [{ code: "approved_by", values: { user: "admin" } }],
  }));
  await page.locator('.task-facts .state[data-state="queued"]').waitFor();
  expect(await page.locator(".task-facts").textContent()).not.toContain("running for");
  const reason = page.locator(".task-reason");
  await reason.getByText("approved by admin").waitFor();
  expect(await reason.getAttribute("style")).not.toContain("lamp");

  await server.admin.expect(200, "POST", `/api/tasks/${waiting.id}/approve`, {});
  expect((await server.reach(waiting.id, "success")).waitedMs).toBeGreaterThan(0);
  const waitedLonger = ({ startedAt, waitedMs }: TaskJson) => ({
    startedAt: anHourEarlier(startedAt),
    waitedMs: waitedMs + 3_600_000,
  });
  await goWith(waitedLonger);
  await page.locator('.task-facts .state[data-state="success"]').waitFor();
  expect(await took.textContent()).toMatch(/^[\d.]+ (sec|min)/);
  await page.route("**/api/activity?*", async (route) => {
    const response = await route.fetch();
    const list = (await response.json()) as { items: { task: TaskJson }[] };
    const items = list.items.map((row) => ({ ...row, task: { ...row.task, ...waitedLonger(row.task) } }));
    await route.fulfill({ response, json: { ...list, items } });
  });
  await go(`/activity?projectId=${projectId}`);
  const listed = page.locator(`.activity-row:has(a[href="/tasks/${waiting.id}"]) .figures`).first();
  expect(await listed.textContent()).toMatch(/^[\d.]+ (sec|min)/);
  await close();
}, 90_000);

test("a stage has one duration: that of the list of stages", async () => {
  const projectId = await server.project(repository.url, {
    build: "sleep 3; echo begins; sleep 1; echo ends",
  });
  const { task } = await deploy(projectId, "success");
  const lines = (await server.log(task.id)).filter(({ stage }) => stage === "checkout");
  const [first = 0, last = 0] = [lines[0], lines.at(-1)].map((line) => Date.parse(line?.at ?? ""));
  const { page, go, close } = await openConsole(browser, server.url);
  await go(`/tasks/${task.id}`);
  await page.locator(".log-head", { hasText: "build" }).waitFor();
  expect(await page.locator(".stage", { hasText: "build" }).textContent()).toContain("sec");
  expect(await page.locator(".log-head", { hasText: "build" }).textContent()).toBe("build2 lines");
  // A checkout is no stage of that list: its time is that of its own lines, without the silence after them.
  const [, took = "0"] =
    /· ([\d.]+) sec/.exec((await page.locator(".log-head", { hasText: "checkout" }).textContent()) ?? "") ??
    [];
  expect(Math.abs(Number(took) - (last - first) / 1000)).toBeLessThan(1);
  await close();
}, 60_000);
