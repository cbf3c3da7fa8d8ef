import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { becomesLive, openConsole, wide } from "../support/console-page.ts";
import { openTestStore } from "../support/databases.ts";
import { freePort } from "../support/free-port.ts";
import { makeRepository } from "../support/git-repository.ts";
import { startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder("restart");
const dataDir = join(folder, "data");
mkdirSync(dataDir);
const [browser, repository] = await Promise.all([startBrowser(), makeRepository()]);
afterAll(async () => {
  await closeBrowser(browser);
  repository.remove();
});

/** Figures of the gateway of the last hour: two times in which a server ran, and 20 minutes between them without one. */
async function recordFigures(): Promise<void> {
  const store = await openTestStore(`sqlite:${join(dataDir, "slipway.db")}`);
  const now = Date.now() - (Date.now() % 60_000);
  const minutes = [50, 49, 48, 47, 46, 45, 25, 24, 23, 22, 21, 20].map((minutesAgo) => ({
    at: new Date(now - minutesAgo * 60_000),
    ...{ gateway: "earlier", connections: minutesAgo > 30 ? 7 : 3, messages: 10, isCluster: false },
  }));
  await store.gatewayMinutes.record(minutes, new Date());
  await store.close();
}

const lines = 5;
const gate = (step: number) => join(folder, `gate-${step}`);
const script = Array.from(
  { length: lines },
  (_, step) => `while [ ! -f ${gate(step)} ]; do sleep 0.05; done; echo line ${step}`,
).join("\n");

test("pages that stay open recover when the server is killed and started again", async () => {
  await repository.push({ "readme.md": "hello" });
  const port = freePort();
  const start = () => startServerProcess(dataDir, { "server-listen": `127.0.0.1:${port}` });
  await recordFigures();
  let server = await start();
  const projectId = await server.project(repository.url, { build: script }, { name: "shop" });
  const hook = await server.admin.expect<{ url: string }>(200, "PUT", `/api/projects/${projectId}/webhook`, {
    enabled: true,
    provider: "generic",
    events: ["tag"],
  });
  const deliver = async (ref: string) => {
    const body = JSON.stringify({ event: "push", ref: `refs/heads/${ref}`, commit: "1".repeat(40) });
    const headers = { "content-type": "application/json" };
    expect((await fetch(hook.url, { method: "POST", headers, body })).status).toBe(200);
  };
  await deliver("before");
  const { id } = await server.run(projectId);
  writeFileSync(gate(0), "");

  const views = await Promise.all(
    ["/", `/tasks/${id}`, "/activity?show=all", "/push"].map(async (path) => {
      const view = await openConsole(browser, server.url, wide);
      await view.go(path);
      await becomesLive(view.page);
      await view.page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
      return view;
    }),
  );
  const [home, task, activity, push] = views.map(({ page }) => page);
  if (!home || !task || !activity || !push) throw new Error("no page");
  const line = (step: number) => task.locator(".log-text", { hasText: new RegExp(`^line ${step}$`) });
  const connections = push.locator('.series[data-kind="connections"]');
  const row = home.getByRole("table", { name: "Projects" }).locator("tbody tr");
  await line(0).waitFor();
  await row.locator('.state[data-state="running"]').waitFor();
  await connections.getByText("at most 7").waitFor();
  await activity.getByRole("listitem").filter({ hasText: "before" }).waitFor();

  await server.end("SIGKILL");
  for (const { page } of views) await page.locator('.side .live-state[data-state="offline"]').waitFor();
  for (const step of [1, 2]) writeFileSync(gate(step), "");
  server = await start();
  for (const { page } of views) await becomesLive(page);

  await deliver("after");
  await activity.getByRole("listitem").filter({ hasText: "after" }).waitFor();
  for (const step of [3, 4]) writeFileSync(gate(step), "");
  await line(4).waitFor();
  await task.locator('.task-facts .state[data-state="success"]').waitFor();
  const shown = (await task.locator(".log-text").allInnerTexts()).filter((text) => text.startsWith("line "));
  expect(shown).toEqual(Array.from({ length: lines }, (_, step) => `line ${step}`));
  await row.locator('.state[data-state="success"], .state[data-tone="success"]').waitFor();

  // Two times with an earlier server and the present one, with gaps between them. A slow restart is a gap, too.
  await connections.getByText(/^\d+ now, at most 7$/).waitFor();
  expect(await connections.locator("polyline").count()).toBeGreaterThanOrEqual(3);
  await push.getByText("Gaps: no server ran").waitFor();
  for (const { page, faults } of views) {
    expect(await page.evaluate(() => "isSamePage" in globalThis)).toBe(true);
    expect(faults).toEqual([]);
  }
  await Promise.all(views.map(({ close }) => close()));
  await server.end("SIGTERM");
}, 180_000);
