import { expect, test } from "bun:test";
import { becomesLive, openConsole, saveForms } from "../support/console-page.ts";
import { setUpScene } from "../support/console-setup.ts";
import { makeHook, sha } from "../support/hook.ts";

const { browser, scene } = await setUpScene();
const view = await openConsole(browser, scene.server.url);

test("a real signed delivery appears live without a reload, and its trace explains why it was ignored", async () => {
  const { page, go } = view;
  await go(`/projects/${scene.shopId}/activity?show=all`);
  await becomesLive(page);
  await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
  await scene.push({ branch: "docs", message: "Describe the basket" });
  const row = page.getByRole("listitem").filter({ hasText: "Describe the basket" });
  await row.waitFor();
  expect(await page.evaluate(() => "isSamePage" in globalThis)).toBe(true);
  await row.getByRole("link").first().click();
  await page.waitForURL("**/deliveries/*");
  const detail = page.getByRole("main");
  await detail.getByText("stopped here").waitFor();
  await detail.getByText("The branch docs matches none of main, release/**.").first().waitFor();
  await detail.getByRole("button", { name: "Replay" }).click();
  await page
    .getByRole("dialog", { name: /^Replay delivery/ })
    .getByRole("button", { name: "Replay the delivery" })
    .click();
  await page.getByText("Replayed as delivery").waitFor();
});

test("a delivery whose task was taken over names the delivery that is built instead", async () => {
  const { page, go } = view;
  const hook = await makeHook(scene.server, { debounceSeconds: 3600 });
  const pushed = async (ref: string) =>
    (await hook.deliver({ payload: { event: "push", ref, commit: sha(ref), author: "ann" } })).body
      .deliveryId;
  const [first, second] = [await pushed("main"), await pushed("dev")];
  await go(`/deliveries/${first}`);
  await page.getByText(`Delivery ${second} took over the task within the debounce window`).first().waitFor();
  await page.getByRole("link", { name: `Delivery ${second}`, exact: true }).click();
  await page.waitForURL(`**/deliveries/${second}`);
});

test("a webhook enabled without a secret shows a red warning, which goes when a generated secret is saved", async () => {
  const { page, go } = view;
  const { id } = await scene.server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: "fresh",
    git: { url: "https://git.example.com/fresh.git" },
  });
  await go(`/projects/${id}/settings/rules`);
  const warning = page.getByRole("alert").filter({ hasText: "Anybody can start a deploy" });
  expect(await warning.count()).toBe(0);
  await page.getByRole("switch", { name: "Enable the webhook" }).click({ force: true });
  await warning.waitFor();
  await page.locator(".address").getByText("/api/hooks/git/").waitFor();
  const command = page.locator("pre", { hasText: "curl -X POST" });
  await command.waitFor();
  expect(await command.textContent()).not.toContain("SECRET");
  await page.getByText("Only this machine can reach this address").waitFor();
  await page.getByText("Waiting for the first delivery").waitFor();
  await page.getByRole("button", { name: "Generate a secret" }).click();
  await page.getByText("Copy the secret to your Git host now").waitFor();
  await page.getByRole("button", { name: "Save the secret" }).click();
  await warning.waitFor({ state: "detached" });
  await command.filter({ hasText: "X-CICD-Token: $SECRET" }).waitFor();
  const saved = await scene.server.admin.expect<{ secretSet: boolean }>(
    200,
    "GET",
    `/api/projects/${id}/webhook`,
  );
  expect(saved.secretSet).toBe(true);
});

test("a change of the filters is evaluated on past deliveries before it is saved", async () => {
  const { page, go } = view;
  await go(`/projects/${scene.shopId}/settings/rules`);
  const answer = page.getByLabel("What these rules do");
  await answer.getByText("With the last pushes").waitFor();
  await page.getByRole("combobox", { name: "Branches" }).fill("try-*");
  await page.keyboard.press("Enter");
  await answer.getByText("would change:").waitFor();
  await answer.getByText("try-new-cart", { exact: false }).first().waitFor();
  await saveForms(page);
  await page.getByText("The rules are saved.").waitFor();
  const saved = await scene.server.admin.expect<{ branchFilter: string[] }>(
    200,
    "GET",
    `/api/projects/${scene.shopId}/webhook`,
  );
  expect(saved.branchFilter).toEqual(["main", "release/**", "try-*"]);
});

test("a new address is made only after a question, and the old address stops working", async () => {
  const { page, go } = view;
  const path = `/api/projects/${scene.shopId}/webhook`;
  const before = await scene.server.admin.expect<{ url: string }>(200, "GET", path);
  await go(`/projects/${scene.shopId}/settings/rules`);
  await page.getByRole("button", { name: "Connection" }).click();
  await page.getByRole("button", { name: "New address" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await scene.server.admin.expect<{ url: string }>(200, "GET", path)).toMatchObject({
    url: before.url,
  });
  await page.getByRole("button", { name: "New address" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "New address" }).click();
  await page.getByText("The address is new").waitFor();
  expect((await fetch(before.url, { method: "POST", body: "{}" })).status).toBe(404);
});
