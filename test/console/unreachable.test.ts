import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { becomesLive, openConsole } from "../support/console-page.ts";
import { freePort } from "../support/free-port.ts";
import { startServerProcess } from "../support/server-process.ts";

const dataDir = mkdtempSync(join(tmpdir(), "slipway-unreachable-"));
const browser = await startBrowser();
const port = freePort();
const start = () => startServerProcess(dataDir, { "server-listen": `127.0.0.1:${port}` });
let server = await start();
const view = await openConsole(browser, server.url);
const { page } = view;
afterAll(async () => {
  await closeBrowser(browser);
  process.kill(server.pid, "SIGCONT");
  await server.end("SIGKILL");
  rmSync(dataDir, { recursive: true, force: true });
});

const banner = page.getByRole("alert").filter({ hasText: "The server cannot be reached" });
const online = page.locator(".state").filter({ hasText: /^online$/ });
const colour = () => online.evaluate((state) => getComputedStyle(state).color);
/** The promise is 5 s; a busy machine paints later. */
const promisedMs = 5000;

async function opened(): Promise<string> {
  await view.go("/runners");
  await becomesLive(page);
  await online.waitFor();
  expect(await banner.count()).toBe(0);
  return colour();
}

test("a server that is gone is named within seconds, with the time of the data, and states are dimmed until it is back", async () => {
  const before = await opened();
  const from = Date.now();
  await server.end("SIGKILL");
  await banner.waitFor({ timeout: promisedMs });
  const times = [from - 1000, Date.now()].map((ms) =>
    new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit" }).format(ms),
  );
  const shown = (await banner.textContent()) ?? "";
  expect(times.some((time) => shown === `The server cannot be reached. Data of ${time}.`)).toBe(true);
  expect(await colour()).not.toBe(before);
  await page.locator('.side .live-state[data-state="offline"]').waitFor();
  // This page was not opened before, so its program is not loaded.
  await page.locator(".side").getByRole("link", { name: "Audit" }).click();
  await page.getByRole("heading", { name: "This page is not loaded yet" }).waitFor();
  server = await start();
  await page.getByRole("heading", { name: "Audit log" }).waitFor();
  await banner.waitFor({ state: "detached" });
  await becomesLive(page);
  await page.goBack();
  await online.waitFor();
  expect(await colour()).toBe(before);
  expect(view.faults).toEqual([]);
}, 180_000);

test("so is a server that stopped answering while its connections stay open", async () => {
  await opened();
  process.kill(server.pid, "SIGSTOP");
  await banner.waitFor({ timeout: promisedMs });
  await page.locator('.side .live-state[data-state="silent"]').waitFor();
  process.kill(server.pid, "SIGCONT");
  await banner.waitFor({ state: "detached" });
  await becomesLive(page);
}, 180_000);
