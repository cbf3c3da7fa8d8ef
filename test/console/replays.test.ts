import { expect, test } from "bun:test";
import { violations } from "../support/axe.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";
import { makeHook, sha } from "../support/hook.ts";

const { browser, server } = await setUpConsole();
const hook = await makeHook(
  server,
  { branchFilter: ["release"], debounceSeconds: 0 },
  { name: "shop", labels: ["nowhere"] },
);
const deliveries = new Map<string, number>();
for (const branch of ["main", "next", "docs"]) {
  const payload = { event: "push", ref: `refs/heads/${branch}`, commit: sha(branch), author: "ann" };
  deliveries.set(branch, Number((await hook.deliver({ payload })).body.deliveryId));
}
await hook.save({ branchFilter: ["main", "next"] });

test("of selected deliveries the newest of each ref is replayed, by the keyboard too", async () => {
  // A later one of the same branch, so that two are selected.
  const payload = { event: "push", ref: "refs/heads/main", commit: sha("main"), author: "ann" };
  const later = Number((await hook.deliver({ payload })).body.deliveryId);
  deliveries.set("main", later);
  const { page, go, close } = await openConsole(browser, server.url, wide);
  await go(`/activity?show=all&projectId=${hook.projectId}&search=main`);
  const rows = page.getByRole("list", { name: "Activity" }).getByRole("listitem");
  await rows.nth(1).waitFor();
  expect(await page.getByRole("toolbar").count()).toBe(0);
  await page.getByRole("checkbox", { name: "Select all that are shown" }).focus();
  await page.keyboard.press("Space");
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await page.getByRole("toolbar").getByRole("button", { name: "Replay" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: "Replay 1 delivery?" });
  await dialog.getByText("1 is older than another selected one of its branch.").waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Replay" }).press("Enter");
  await page.getByText("1 delivery was replayed.").waitFor();
  await close();
});

test("a delivery links to its replays, and a replay to its original", async () => {
  const { page, go, close } = await openConsole(browser, server.url, wide);
  const original = deliveries.get("main");
  await go(`/deliveries/${original}`);
  const replays = page.getByRole("term").filter({ hasText: "Replayed as" }).locator("xpath=..");
  await replays.getByText("accepted").waitFor();
  await replays.getByRole("link", { name: /^Delivery \d+$/ }).click();
  await page.getByText("Replay of").waitFor();
  await page.getByRole("link", { name: `Delivery ${original}`, exact: true }).click();
  await page.waitForURL(`**/deliveries/${original}`);
  // Lists mark it, and its task names the person who sent it.
  await go("/activity?trigger=webhook");
  await page.getByRole("listitem").getByText(`replay of ${original}`, { exact: true }).waitFor();
  await go(`/projects/${hook.projectId}/activity`);
  await page.getByRole("listitem").getByText("sent by admin").first().waitFor();
  await close();
});

test("the question before a replay warns if something newer was deployed since", async () => {
  const repository = await makeRepository();
  const old = await repository.push({ "readme.md": "old" });
  const shop = await makeHook(
    server,
    { branchFilter: ["main"], debounceSeconds: 0 },
    { git: { url: repository.url, ref: "main" }, stages: { deploy: { script: "true" } } },
  );
  const payload = { event: "push", ref: "refs/heads/main", commit: old, author: "ann" };
  const { deliveryId, taskId } = (await shop.deliver({ payload })).body;
  await server.reach(Number(taskId), "success");
  const { page, go, close } = await openConsole(browser, server.url, wide);
  const ask = async () => {
    await go(`/deliveries/${deliveryId}`);
    await page.getByRole("button", { name: "Replay the delivery" }).click();
    await page.getByRole("dialog").getByText("The current rules are applied again").waitFor();
  };
  await ask();
  expect(await page.getByRole("dialog").getByText("probably older").count()).toBe(0);
  const next = await repository.push({ "readme.md": "new" });
  await server.reach((await server.run(shop.projectId)).id, "success");
  await ask();
  await page
    .getByRole("dialog")
    .getByText(`${next.slice(0, 7)} was deployed after this delivery arrived and serves now.`)
    .waitFor();
  repository.remove();
  await close();
});
