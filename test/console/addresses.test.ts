import { expect, test } from "bun:test";
import { openConsole } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });
await server.admin.expect(201, "POST", "/api/projects", {
  name: "shop",
  git: { url: "https://git.example.com/shop.git" },
});

test("an address with an invalid id shows that there is no such page, for every page with an id", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(new URL(request.url()).pathname));
  for (const path of [
    "/tasks/%E0%A4%A",
    "/projects/1%00",
    "/deliveries/99999999999999999999",
    "/projects/abc/webhook",
    "/projects/1/nonsense",
    "/projects/1/constructor",
    "/projects/1/settings/more",
    "/projects/abc/tasks",
  ]) {
    await go(path);
    await page.getByText("This page does not exist").waitFor();
    await page.waitForFunction(() => document.title === "Not found · Slipway");
  }
  expect(requests.filter((path) => /^.api.*(NaN|Infinity|undefined)/.test(path))).toEqual([]);
  expect(faults).toEqual([]);
  await close();
});

test("an unknown id shows a heading, the id and a link back", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  for (const [noun, path, list] of [
    ["task", "/tasks", "/activity"],
    ["project", "/projects", "/"],
    ["delivery", "/deliveries", "/activity"],
  ] as const) {
    await go(`${path}/4711`);
    await page
      .getByRole("alert")
      .filter({ hasText: `no ${noun} 4711` })
      .waitFor();
    expect(await page.title()).not.toContain("undefined");
    await page
      .locator("main")
      .getByRole("link", { name: /^all |^home$/i })
      .click();
    await page.waitForURL(server.url + list);
  }
  expect(faults).toEqual([]);
  await close();
});

test("earlier addresses of a project lead to where its parts are now, with their parameters and anchors", async () => {
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: "moved",
    git: { url: "https://git.example.com/moved.git" },
  });
  const { page, faults, go, close } = await openConsole(browser, server.url);
  for (const [before, now] of [
    ["tasks?state=failed", "activity?outcome=failed"],
    ["webhook#secret", "settings/rules#secret"],
    ["settings/commit-status", "settings/notifications#commit-status"],
  ] as const) {
    await go(`/projects/${id}/${before}`);
    await page.waitForURL(`${server.url}/projects/${id}/${now}`);
  }
  expect(faults).toEqual([]);
  await close();
});
