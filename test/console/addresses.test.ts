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
  for (const path of ["/projects/abc/webhook", "/projects/1/nonsense", "/projects/1/settings/more"]) {
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
  for (const [noun, path] of [
    ["task", "/tasks"],
    ["project", "/projects"],
    ["delivery", "/deliveries"],
  ] as const) {
    await go(`${path}/4711`);
    await page
      .getByRole("alert")
      .filter({ hasText: `no ${noun} 4711` })
      .waitFor();
    expect(await page.title()).not.toContain("undefined");
    await page.locator("main").getByRole("link", { name: /all /i }).click();
    await page.waitForURL(`**${path}`);
  }
  expect(faults).toEqual([]);
  await close();
});

test("an invalid delivery id in the query leaves the list as it is", async () => {
  const { page, faults, go, close } = await openConsole(browser, server.url);
  for (const id of ["abc", "1.5", "1e400", "-3"]) {
    await go(`/deliveries?delivery=${id}`);
    await page.getByText("Nothing was delivered yet").waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
  }
  expect(faults).toEqual([]);
  await close();
});
