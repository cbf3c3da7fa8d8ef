import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { adminPassword } from "../support/api-server.ts";
import { collectFaults, plainHost } from "../support/browser.ts";
import { openConsole, saveForms, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });

/** Signs in over plain http under a name that is not localhost: browsers offer no clipboard and no random ids there. */
async function openPlainly(path: string): Promise<{ page: Page; faults: string[] }> {
  const context = await browser.newContext(wide);
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const faults = collectFaults(page);
  await page.goto(`http://${plainHost}:${new URL(server.url).port}${path}`);
  await page.getByLabel("Username").fill("admin");
  await page.getByLabel("Password").first().fill(adminPassword);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("main#main h1").waitFor();
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  return { page, faults };
}

test("what an address asks for and a list cannot do is named, and the list is shown", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  for (const query of ["from=abc", "from=20265-01-01T01:01", "to=99999"]) {
    await go(`/activity?${query}`);
    await page.getByText("Nothing matches these filters").waitFor();
    await page.getByRole("alert").getByText(`is not a date such as`).waitFor();
  }
  const named = page.getByRole("alert").filter({ hasText: "Known:" });
  await go("/activity?status=ignored&page=1");
  await named.getByText("that this list does not know, and ignores: status. Known: show, outcome,").waitFor();
  await go("/tasks?odd=1&state=broken&projectId=x");
  await named.getByText("ignores: odd. Known: show,").waitFor();
  await named.getByText("status has no value “broken”. Values: queued,").waitFor();
  await named.getByText("No project has the name x.").waitFor();
  await go("/activity?from=abc");
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.waitForURL("**/activity");
  expect(faults).toEqual([]);
  await close();
});

test("a new project opens its stages, with a notice that a run does nothing until a stage has a script", async () => {
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go("/");
  await page.getByRole("link", { name: "Add your own project" }).click();
  const form = page.locator("main form");
  await form.getByLabel("Clone URL").fill("https://git.example.com/fresh.git");
  await form.getByRole("button", { name: "Continue without reading the repository" }).click();
  await form.getByLabel("Name").fill("fresh");
  await form.getByRole("button", { name: "Add the project" }).click();
  await page.getByRole("link", { name: "Go to the project" }).click();
  await page.getByRole("tab", { name: "Settings" }).click();
  await page.getByRole("link", { name: "Pipeline", exact: true }).click();
  const build = page.getByRole("textbox", { name: "build", exact: true });
  await build.waitFor();
  const top = await build.evaluate((field) => field.getBoundingClientRect().top);
  expect(top).toBeLessThan(wide.viewport.height);
  await page.getByRole("tab", { name: "Overview" }).click();
  const note = page.getByText("No stage has a script yet");
  await note.waitFor();
  await page.getByRole("link", { name: "Write the scripts of its stages" }).click();
  await build.fill("make");
  await saveForms(page);
  await page.getByRole("tab", { name: "Overview" }).click();
  await page.getByText("Nothing has run yet").waitFor();
  expect(await note.count()).toBe(0);
  expect(faults).toEqual([]);
  await close();
});

test("a page that fails to render shows the error, keeps the navigation, and recovers on another page or after a retry", async () => {
  const { page, go, close } = await openConsole(browser, server.url);
  await server.admin.expect(201, "POST", "/api/groups", { name: "Storefront" });
  const broken = (url: URL) => url.pathname === "/api/audit";
  await page.route(broken, (route) =>
    route.fulfill({ json: { items: [null], total: 1, page: 1, pageSize: 50 } }),
  );
  await go("/audit");
  await page.getByRole("heading", { name: "This page failed" }).waitFor();
  await page.locator(".side").getByRole("link", { name: "Account" }).click();
  await page.getByRole("heading", { name: "Your account" }).waitFor();
  await page.locator(".side").getByRole("link", { name: "Audit" }).click();
  await page.getByRole("heading", { name: "This page failed" }).waitFor();
  await page.unroute(broken);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("cell", { name: "group: created" }).waitFor();
  await close();
});

test("a part of the console that cannot be loaded can be tried again, and a new version of the server is loaded by itself", async () => {
  const { page, go, close } = await openConsole(browser, server.url);
  const parts = "**/assets/part-*.js";
  let isAway = false;
  // Before the page is opened: a request soon after `page.route` may be made before the interception is in effect.
  for (const asked of [parts, `${server.url}/`])
    await page.route(asked, (route) => (isAway ? route.abort() : route.continue()));
  await go("/");
  isAway = true;
  await page.locator(".side").getByRole("link", { name: "Account" }).click();
  await page.getByRole("heading", { name: "This page is not loaded yet" }).waitFor();
  // Without the server a reload would leave the console.
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("The server can't be reached").waitFor();
  isAway = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Your account" }).waitFor();
  await page.unrouteAll();

  // The page of the next version names another script, and the files of this one are gone.
  let isNew = false;
  let loads = 0;
  const index = await (await fetch(server.url)).text();
  await page.route(parts, (route) =>
    isNew && loads === 0 ? route.fulfill({ status: 404 }) : route.continue(),
  );
  await page.route(`${server.url}/`, (route) =>
    isNew
      ? route.fulfill({
          contentType: "text/html",
          body: index.replaceAll("/assets/main-", "/assets/main-new-"),
        })
      : route.continue(),
  );
  await go("/");
  isNew = true;
  page.on("request", (request) => {
    if (request.isNavigationRequest()) loads++;
  });
  await page.locator(".side").getByRole("link", { name: "Audit" }).click();
  await page.getByRole("heading", { name: "Audit log" }).waitFor();
  expect(loads).toBe(1);
  await close();
});

test("a part of the console whose request was lost is loaded by itself, and a browser that calls itself offline still asks", async () => {
  const { page, go, faults, close } = await openConsole(browser, server.url);
  let isOpen = false;
  let lost = 0;
  // Before the page is opened: a request soon after `page.route` may be made before the interception is in effect.
  await page.route("**/assets/part-*.js", (route) =>
    isOpen && lost++ === 0 ? route.abort() : route.continue(),
  );
  await go("/");
  isOpen = true;
  await page.locator(".side").getByRole("link", { name: "Account" }).click();
  await page.getByRole("heading", { name: "Your account" }).waitFor();
  expect(lost).toBeGreaterThan(0);
  await page.unrouteAll();
  await page.evaluate(() => dispatchEvent(new Event("offline")));
  await page.locator(".side").getByRole("link", { name: "People" }).click();
  await page.locator("tr", { hasText: "admin" }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test("over plain http the test connection opens and lists messages", async () => {
  const { page, faults } = await openPlainly("/push/playground");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByLabel("Received messages").getByText("connected as").waitFor();
  await page.getByRole("button", { name: "Publish the message" }).click();
  await page.getByLabel("Received messages").getByText("all: Hello from the console").waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
});

test("over plain http a token is copied, or selected with a hint which keys to press", async () => {
  const { page } = await openPlainly("/tokens");
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("nightly");
  await page.getByRole("button", { name: "Create the token" }).click();
  const shown = page.getByRole("dialog").filter({ hasText: "Your new token" });
  const token = String(await shown.locator(".copy-text code").textContent());
  const copied = page.evaluate(
    () =>
      new Promise<string>((resolve) =>
        document.addEventListener("copy", () => resolve(String(getSelection())), { once: true }),
      ),
  );
  // "Copied" disappears soon, so it is waited for before the click.
  await Promise.all([
    shown.getByRole("status").getByText("Copied").waitFor(),
    shown.getByRole("button", { name: "Copy the token" }).click(),
  ]);
  expect(await copied).toBe(token);

  await page.evaluate(() => {
    document.execCommand = () => false;
    getSelection()?.removeAllRanges();
  });
  await shown.getByRole("button", { name: "Copy the token" }).click();
  await shown.getByRole("status").getByText("press Ctrl+C").waitFor();
  expect(await page.evaluate(() => String(getSelection()))).toBe(token);
  await page.context().close();
});

test("on a slow line the frame is in the first response, until the console takes its place", async () => {
  const { page, faults, close } = await openConsole(browser, server.url);
  const arrives = Promise.withResolvers<void>();
  await page.route("**/assets/**", async (route) => {
    await arrives.promise;
    await route.continue();
  });
  await page.goto(server.url, { waitUntil: "commit" });
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  expect(await page.locator("#first").textContent()).toBe("Slipway");
  arrives.resolve();
  await page.locator("main#main h1").waitFor();
  expect(await page.locator("#first").count()).toBe(0);
  expect(faults).toEqual([]);
  await close();
});
