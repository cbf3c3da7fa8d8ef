import { afterAll, expect, test } from "bun:test";
import { violations } from "../support/axe.ts";
import { openConsole, saveForms, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";

const { browser, server } = await setUpConsole();
const repository = await makeRepository();
const first = await repository.push({ "readme.md": "hello" }, { message: "Open the shop" });
afterAll(() => repository.remove());

const runOf = async (id: number, state: "success" | "failed") =>
  server.reach((await server.run(id)).id, state);

test("a project opens on its service: what serves, its address, the last deploy and the way back", async () => {
  const id = await server.project(repository.url, { deploy: "true" }, { name: "shop" });
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/projects/${id}`);
  const panel = page.getByRole("region", { name: "Service" });
  await panel.getByText("Nothing serves yet").waitFor();
  expect(await panel.getByRole("button").count()).toBe(0);
  const one = await runOf(id, "success");
  const second = await repository.push({ "readme.md": "bye" }, { message: "Close the shop" });
  const two = await runOf(id, "success");
  await panel.getByText(second.slice(0, 7), { exact: true }).waitFor();
  // A deploy without a service or a check shows nothing about what serves.
  await panel.getByText("Deployed, not checked", { exact: true }).waitFor();
  expect(await panel.getByRole("link", { name: "Visit" }).count()).toBe(0);
  await panel.getByRole("link", { name: `task ${two.id}` }).waitFor();
  await panel.getByRole("link", { name: "Add its public address" }).click();
  await page.getByLabel("Public address").fill("shop.example.com");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("must be a URL that starts with http:// or https://").waitFor();
  await page.getByLabel("Public address").fill("https://shop.example.com");
  await saveForms(page);
  await go(`/projects/${id}`);
  expect(await panel.getByRole("link", { name: "Visit" }).getAttribute("href")).toBe(
    "https://shop.example.com",
  );
  await panel.getByRole("button", { name: `Roll back to ${first.slice(0, 7)}` }).click();
  await page.getByRole("button", { name: "Start the rollback" }).click();
  await page.waitForURL("**/tasks/*");
  await page.locator('.task-facts .state[data-state="success"]').waitFor();
  await go(`/projects/${id}`);
  await panel.getByText(first.slice(0, 7), { exact: true }).waitFor();
  // The list marks the rollback and nothing else.
  const marks = page.locator(".activity-row .mark-word");
  await marks.first().waitFor();
  expect(await marks.allInnerTexts()).toEqual([`rollback to task ${one.id}`]);
  const since = await panel
    .locator("div", { hasText: /^Deployed/ })
    .locator("time")
    .getAttribute("datetime");
  await go(`/projects/${id}/releases`);
  const serving = page.locator("tr", { hasText: first.slice(0, 7) });
  await serving.getByText("deployed last", { exact: true }).waitFor();
  // One fact has one time.
  const times = [serving.locator("time"), page.locator(".page-about time")];
  expect(await Promise.all(times.map((time) => time.getAttribute("datetime")))).toEqual([since, since]);
  await page
    .locator("tr", { hasText: second.slice(0, 7) })
    .locator("td")
    .nth(2)
    .click();
  await page.waitForURL(`**/tasks/${two.id}`);
  expect(faults).toEqual([]);
  await close();
}, 120_000);

test("what serves is called unknown once, and a release can be brought back", async () => {
  const id = await server.project(repository.url, { deploy: "true" }, { name: "ledger", rollback: "off" });
  await runOf(id, "success");
  await server.admin.expect(200, "PATCH", `/api/projects/${id}`, {
    stages: { deploy: { script: "exit 1" } },
  });
  await runOf(id, "failed");
  const { page, go, close } = await openConsole(browser, server.url);
  await go(`/projects/${id}`);
  const panel = page.getByRole("region", { name: "Service" });
  await panel.getByText("Unknown", { exact: true }).waitFor();
  await panel.getByText(/nothing is known to be serving/).waitFor();
  expect(
    (await page.locator("main").textContent())?.match(/unknown|nothing (is known|serves)/gi),
  ).toHaveLength(2);
  await panel.getByRole("button", { name: /^Deploy [0-9a-f]{7} again$/ }).waitFor();
  await go("/");
  await page.locator("tr", { hasText: "ledger" }).getByText("unknown", { exact: true }).waitFor();
  await close();
}, 60_000);

test("after the sample: why it deployed, break it and watch the rollback, add your own", async () => {
  const made = await server.admin.expect<{ projectId: number; taskId: number; deliveryId: number }>(
    201,
    "POST",
    "/api/samples",
  );
  await server.reach(made.taskId, "success");
  const { page, go, faults, close } = await openConsole(browser, server.url, {
    ...wide,
    viewport: { width: 390, height: 844 },
  });
  await go(`/tasks/${made.taskId}`);
  const steps = page.locator(".sample-steps");
  expect(await steps.getByRole("link", { name: "Open the delivery" }).getAttribute("href")).toBe(
    `/deliveries/${made.deliveryId}`,
  );
  expect(await steps.getByRole("link", { name: "Add your own project" }).getAttribute("href")).toBe(
    "/projects/new",
  );
  expect(await violations(page)).toEqual([]);
  await steps.getByRole("button", { name: "Push a broken commit" }).click();
  await page.waitForURL(
    (url) => url.pathname.startsWith("/tasks/") && url.pathname !== `/tasks/${made.taskId}`,
  );
  await page
    .getByText(/is serving again/)
    .first()
    .waitFor();
  await go(`/projects/${made.projectId}`);
  await page
    .getByRole("region", { name: "Service" })
    .getByText(/is serving again/)
    .waitFor();
  await steps.getByRole("button", { name: "Push a fixed commit" }).click();
  await page.waitForURL("**/tasks/*");
  await page.locator('.task-facts .state[data-state="success"]').waitFor();
  await steps.getByText("Broken, rolled back and fixed").waitFor();
  expect(await steps.getByRole("button").count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await close();
}, 90_000);
