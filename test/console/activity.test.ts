import { expect, test } from "bun:test";
import { violations } from "../support/axe.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpScene } from "../support/console-setup.ts";
import { openServerFile } from "../support/server-file.ts";

const { browser, scene } = await setUpScene();
const { server, shopId } = scene;

const open = async (path = "/activity", view = wide) => {
  const console = await openConsole(browser, server.url, view);
  await console.go(path);
  await console.page.getByRole("list", { name: "Activity" }).getByRole("listitem").first().waitFor();
  return { ...console, rows: console.page.getByRole("list", { name: "Activity" }).getByRole("listitem") };
};

test("a push and its task are one row; what started nothing is one click away, with the reason", async () => {
  const { page, rows, go, faults, close } = await open("/activity?show=all");
  await go("/");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Activity" }).click();
  const pushed = rows.filter({ hasText: "Delivery" }).filter({ hasText: "Task" }).first();
  await pushed.waitFor();
  expect(await pushed.getByRole("img", { name: /^push: .*decision: .*deploy: .*serving: / }).count()).toBe(1);
  expect(await page.getByText("ignored", { exact: true }).count()).toBe(0);
  await page.getByText("Not deployed", { exact: true }).click();
  await page.waitForURL("**/activity?show=stopped");
  const left = rows.filter({ hasText: "ignored" }).first();
  await left.waitFor();
  expect(await left.locator(".reason").textContent()).not.toBe("");
  await left.getByRole("link").first().click();
  await page.waitForURL("**/deliveries/*");
  await page.getByText("Why", { exact: true }).waitFor();
  await go(`/projects/${shopId}/activity?show=all`);
  await rows.first().waitFor();
  expect(await rows.filter({ hasText: "ledger" }).count()).toBe(0);
  expect(faults).toEqual([]);
  await close();
});

test("a push that a poll found was not pushed by the author, as far as anybody knows", async () => {
  const { rows, close } = await open(`/projects/${shopId}/activity?show=all`);
  const pushed = rows.filter({ hasText: "pushed by" }).filter({ hasText: "Delivery" }).first();
  const id = /Delivery (\d+)/.exec((await pushed.textContent()) ?? "")?.[1] ?? "";
  using file = openServerFile(server.dataDir);
  file.query("update deliveries set remote_ip = 'poll' where id = ?").run(id);
  await rows.page().reload();
  const found = rows.filter({ hasText: `Delivery ${id}` });
  await found.getByText("found by asking the repository, commit by", { exact: false }).waitFor();
  expect(await found.getByText("pushed by").count()).toBe(0);
  await close();
});

test("nothing moves for people who prefer that", async () => {
  const { page, rows, go, close } = await open();
  const movements = () =>
    page.evaluate(() => document.getAnimations().filter((each) => each instanceof CSSAnimation).length);
  await rows.filter({ hasText: `Task ${scene.runningTaskId}` }).waitFor();
  expect(await movements()).toBe(0);
  await go(`/tasks/${scene.runningTaskId}`);
  expect(await movements()).toBe(0);
  await page.emulateMedia({ reducedMotion: "no-preference" });
  expect(await movements()).toBeGreaterThan(0);
  await close();
});

test("J and K move, X selects, Enter opens", async () => {
  const { page, rows, close } = await open();
  const focused = () =>
    rows.evaluateAll((all) => all.findIndex((row) => row.contains(document.activeElement)));
  for (const [key, place] of [
    ["j", 0],
    ["j", 1],
    ["j", 2],
    ["k", 1],
  ] as const) {
    await page.keyboard.press(key);
    expect(await focused()).toBe(place);
  }
  await page.keyboard.press("x");
  await page.getByRole("toolbar", { name: "Selected rows" }).getByText("1 selected").waitFor();
  expect(await rows.nth(1).getByRole("checkbox").isChecked()).toBe(true);
  await page.keyboard.press("x");
  await page.getByRole("toolbar").waitFor({ state: "detached" });
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/(tasks|deliveries)\/\d+$/);
  for (const key of ["a", "d", "t"]) {
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.waitForURL(`${server.url}/`);
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.waitForURL("**/activity");
  }
  await close();
});

test("selected rows are run again and replayed; the others are counted with the reason", async () => {
  const { page, rows, faults, close } = await open("/activity?show=all");
  const bar = page.getByRole("toolbar", { name: "Selected rows" });
  const failed = rows.filter({ hasText: `Task ${scene.failedTaskId}` });
  await failed.getByRole("checkbox").check();
  const ignored = rows.filter({ hasText: "ignored" }).first();
  await ignored.getByRole("checkbox").check();
  await bar.getByText("2 selected").waitFor();
  await bar.getByRole("button", { name: "Run again" }).click();
  const dialog = page.getByRole("dialog", { name: "Run 1 task again?" });
  await dialog.getByText("Left out: 1 has no task.").waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Run again" }).click();
  await page.getByText("1 task was started again. 1 has no task.").waitFor();
  await bar.waitFor({ state: "detached" });

  await ignored.getByRole("checkbox").check();
  await bar.getByRole("button", { name: "Cancel tasks" }).click();
  await page.getByText("Nothing selected can be canceled. 1 has no task.").waitFor();
  const before = await server.admin.expect<{ total: number }>(200, "GET", "/api/webhooks/deliveries");
  await bar.getByRole("button", { name: "Replay" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Replay" }).click();
  await page.getByText("1 delivery was replayed.").waitFor();
  const after = await server.admin.expect<{ total: number }>(200, "GET", "/api/webhooks/deliveries");
  expect(after.total).toBe(before.total + 1);
  expect(faults).toEqual([]);
  await close();
});

test("addresses of the former lists lead here with their filters; unknown parameters are named", async () => {
  const { page, go, close } = await open();
  for (const [from, to] of [
    ["/deliveries?search=late-idea", "/activity?search=late-idea&show=all"],
    [`/projects/${shopId}/deliveries?status=rejected`, `/projects/${shopId}/activity?outcome=rejected`],
  ] as const) {
    await go(from);
    await page.waitForURL(`${server.url}${to}`);
  }
  await go("/tasks?state=failed&odd=1");
  await page.getByRole("alert").getByText("ignores: odd").waitFor();
  await close();
});

test("the next page is appended, and rows fit phones, tablets and wide screens", async () => {
  for (let count = 0; count < 31; count += 1)
    await scene.push({ branch: `idea-${count}`, message: `Idea ${count}` });
  const { page, rows, faults, close } = await open("/activity?show=all");
  expect(await rows.count()).toBe(30);
  const older = Promise.withResolvers<void>();
  const fresh = page.waitForRequest((request) => /\/api\/activity\?(?!.*after=)/.test(request.url()));
  await page.route(
    /\/api\/activity\?.*after=/,
    async (route) => {
      await older.promise;
      await route.continue().catch(() => undefined);
    },
    { times: 1 },
  );
  await page.getByRole("button", { name: "Show older" }).click();
  // News end the fetch of the next page.
  await scene.push({ branch: "idea", message: "Meanwhile" });
  await fresh;
  older.resolve();
  await rows.nth(30).waitFor();
  await rows.first().getByText("Meanwhile").waitFor();
  const names = await rows.locator(".activity-title").allInnerTexts();
  expect(names.filter((name) => name.startsWith("Idea"))).toHaveLength(31);
  await scene.push({ branch: "idea", message: "Just now" });
  await rows.first().getByText("Just now").waitFor();
  for (const width of [390, 820, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await violations(page)).toEqual([]);
  }
  expect(faults).toEqual([]);
  await close();
});
