import { expect, test } from "bun:test";
import { openConsole } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole();
await server.admin.expect(201, "POST", "/api/projects", {
  name: "shop",
  git: { url: "https://git.example.com/shop.git" },
});

const noIds = [
  "abc",
  "0",
  "-1",
  "1.5",
  "1e3",
  "0x1",
  "NaN",
  "99999999999999999999",
  "%20",
  "%E0%A4%A",
  "1%00",
];

test("an address with an invalid id shows that there is no such page, for every page with an id", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(new URL(request.url()).pathname));
  for (const path of ["/tasks", "/projects", "/deliveries"])
    for (const id of noIds) {
      await go(`${path}/${id}`);
      await page.getByText("This page does not exist").waitFor();
    }
  for (const path of [
    "/projects/abc/webhook",
    "/projects/1/nonsense",
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
}, 180_000);

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
    ["deliveries", "activity"],
    ["webhook", "settings/rules"],
    ["webhook#secret", "settings/rules#secret"],
    ["settings/general", "settings/source"],
    ["settings/stages#build", "settings/pipeline#build"],
    ["settings/execution", "settings/pipeline#execution"],
    ["settings/members", "settings/access"],
    ["settings/commit-status", "settings/notifications#commit-status"],
    ["settings/delete", "settings/source#delete"],
  ] as const) {
    await go(`/projects/${id}/${before}`);
    await page.waitForURL(`${server.url}/projects/${id}/${now}`);
  }
  expect(faults).toEqual([]);
  await close();
});
