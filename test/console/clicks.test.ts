import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { becomesLive, openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";
import { makeHook } from "../support/hook.ts";

// How many clicks lead from Home to an answer. The page counts them itself.
const { browser, server } = await setUpConsole();
const repository = await makeRepository();
await repository.push({
  "package.json": JSON.stringify({ scripts: { start: "node server.js" } }),
  "server.js": 'require("http").createServer((_, answer) => answer.end("up")).listen(process.env.PORT);',
});
afterAll(() => repository.remove());
const view = await openConsole(browser, server.url, wide);
await view.page.addInitScript(() => {
  document.addEventListener(
    "click",
    ({ isTrusted, detail }) => {
      // A key that presses a button makes a click without a pointer.
      if (!isTrusted || detail === 0) return;
      sessionStorage.setItem("clicks", String(Number(sessionStorage.getItem("clicks") ?? 0) + 1));
    },
    { capture: true },
  );
});
afterAll(() => expect(view.faults).toEqual([]));

const counts: Record<string, number> = {};
afterAll(() => console.info(`clicks from Home: ${JSON.stringify(counts)}`));

/** Opens Home, and counts the clicks of what follows. */
async function fromHome(question: string, walk: (page: Page) => Promise<void>): Promise<number> {
  const { page, go } = view;
  await go("/");
  await becomesLive(page);
  await page.evaluate(() => sessionStorage.setItem("clicks", "0"));
  await walk(page);
  const clicks = await page.evaluate(() => Number(sessionStorage.getItem("clicks")));
  counts[question] = clicks;
  return clicks;
}

test("the repository of a program with npm start is deployed: 4 clicks from Home, the first of which opens the form", async () => {
  const clicks = await fromHome("own project deployed", async (page) => {
    await page.getByRole("link", { name: "Add your own project" }).click();
    // The field of the address has the focus.
    await page.getByLabel("Clone URL").and(page.locator(":focus")).waitFor();
    await page.keyboard.type(repository.url);
    await page.getByText("Slipway can read the repository").waitFor();
    await page.getByRole("button", { name: "Add the project" }).click();
    await page.getByRole("button", { name: "Start a deploy now" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Start the deploy" }).click();
    await page.waitForURL("**/tasks/*");
    await page.locator('.task-facts .state[data-state="success"]').waitFor();
  });
  expect(clicks).toBe(4);
  await server.admin.expect(202, "POST", "/api/projects/1/services/web/stop");
}, 120_000);

test("why a push did not deploy", async () => {
  const hook = await makeHook(server, { branchFilter: ["main"] }, { name: "pushed" });
  await hook.deliver({ payload: { event: "push", ref: "refs/heads/docs", message: "Explain it" } });
  const clicks = await fromHome("why did this push not deploy", async (page) => {
    await page.locator(".side").getByRole("link", { name: "Activity" }).click();
    await page.getByText("Not deployed", { exact: true }).click();
    await page.getByText("Explain it").waitFor();
    await page
      .locator(".activity-row")
      .getByText(/docs.*(filter|branch)|branch.*docs/i)
      .first()
      .waitFor();
  });
  expect(clicks).toBeLessThanOrEqual(3);
});

test("why 42 did not get a message", async () => {
  await server.admin.expect(200, "POST", "/api/push/publish", {
    ...{ targetType: "user", target: "42", data: "hello" },
  });
  const clicks = await fromHome("why did 42 not get it", async (page) => {
    await page.locator(".side").getByRole("link", { name: "Push" }).click();
    await page.getByRole("tab", { name: "Find a user" }).click();
    await page.getByLabel("User ID").click();
    await page.keyboard.type("42");
    await page.keyboard.press("Enter");
    await page.getByText("42 had no connection on any instance.").first().waitFor();
    await page.getByText(/^42 is offline/).waitFor();
  });
  expect(clicks).toBeLessThanOrEqual(3);
});

test("the last good version comes back", async () => {
  const id = await server.project(repository.url, { deploy: "true" }, { name: "storefront" });
  const good = await server.reach((await server.run(id)).id, "success");
  await repository.push({ "page.html": "worse" }, { message: "Worse" });
  await server.reach((await server.run(id)).id, "success");
  const clicks = await fromHome("bring the last good version back", async (page) => {
    await page.locator("main").getByRole("link", { name: "storefront", exact: true }).first().click();
    await page
      .getByRole("button", { name: /^Roll back/ })
      .first()
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Start the rollback" }).click();
    await page.waitForURL("**/tasks/*");
    await page.getByText(`rollback to task ${good.id}`).first().waitFor();
    await page.locator('.task-facts .state[data-state="success"]').waitFor();
  });
  expect(clicks).toBeLessThanOrEqual(3);
  // The rail says what is known: nothing has checked what this one deployed.
  await view.go("/activity?show=all");
  const row = view.page.locator(".activity-row").filter({ hasText: `rollback to task ${good.id}` });
  const rail = row.locator(".rail");
  expect(await rail.getAttribute("aria-label")).toContain("deployed last, not checked");
  expect(await rail.locator('[data-state="unchecked"]').getAttribute("data-tone")).toBe("waiting");
}, 120_000);
