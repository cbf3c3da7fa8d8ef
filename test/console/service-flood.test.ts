import { afterAll, expect, test } from "bun:test";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { openConsole } from "../support/console-page.ts";
import { startDeployServer } from "../support/deploy-server.ts";
import { makeRepository } from "../support/git-repository.ts";

/** `FLOOD_SECONDS=60` is 100 MB. */
const seconds = Number(process.env.FLOOD_SECONDS ?? 8);
const [browser, server, repository] = await Promise.all([
  startBrowser(),
  startDeployServer(),
  makeRepository(),
]);
await repository.push({ "readme.md": "hello" });
afterAll(async () => {
  await closeBrowser(browser);
  await server.stop();
  server.remove();
  repository.remove();
});

test("the page of a service that prints 1.7 MB a second can be used: its output is followed, searched and masked", async () => {
  const part = "head -c 170000 /dev/zero | tr '\\0' x | fold -w 99";
  const command = `while :; do ${part}; echo; echo "the token is $TOKEN"; sleep 0.1; done`;
  const projectId = await server.project(
    repository.url,
    {},
    { name: "flood", pipeline: { start: { web: { command, port: "none" } } } },
  );
  await server.admin.expect(204, "PUT", `/api/projects/${projectId}/secrets/TOKEN`, {
    value: "hidden-value-1",
  });
  await server.reach((await server.run(projectId)).id, "success");
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/projects/${projectId}/services/web`);
  const lines = page.locator(".log-line .log-text");
  await lines.filter({ hasText: "the token is" }).first().waitFor();
  const measured = await page.evaluate(async (ms) => {
    let last = performance.now();
    let longest = 0;
    const timer = setInterval(() => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }, 20);
    await new Promise((resolve) => setTimeout(resolve, ms));
    clearInterval(timer);
    return { longest, elements: document.querySelectorAll("*").length };
  }, seconds * 1000);
  console.log(`longest pause of the page ${measured.longest.toFixed(0)} ms, ${measured.elements} elements`);
  expect(measured.longest).toBeLessThan(2000);
  expect(measured.elements).toBeLessThan(5000);
  await page.getByRole("searchbox").fill("the token");
  await page.keyboard.press("Enter");
  await page.locator(".log-line .log-text", { hasText: "the token is ***" }).first().waitFor();
  expect(await page.locator("main").textContent()).not.toContain("hidden-value-1");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("button", { name: "Stop the service" }).click();
  await page.locator('.service .state[data-state="stopped"]').waitFor();
  expect(faults).toEqual([]);
  await close();
}, 180_000);
