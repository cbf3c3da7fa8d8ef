import { expect, test } from "bun:test";
import { openConsole, saveBar, saveForms } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole();
const view = await openConsole(browser, server.url);

/** The page of a new project's webhook. */
async function webhookPage(webhook: object) {
  const git = { url: "https://git.example.com/shop.git" };
  const name = `shop ${crypto.randomUUID()}`;
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", { name, git });
  const path = `/api/projects/${id}/webhook`;
  await server.admin.expect(200, "PUT", path, { enabled: true, ...webhook });
  await view.go(`/projects/${id}/webhook`);
  return { stored: () => server.admin.expect<Record<string, unknown>>(200, "GET", path) };
}

const events = view.page.getByRole("group", { name: "Events" });
const stages = view.page.getByRole("group", { name: "Stages to run", exact: true });

test("of the events and of the stages one stays ticked, and the form says why", async () => {
  const { page } = view;
  const { stored } = await webhookPage({ events: ["push", "tag"], actions: { fromStage: "deploy" } });
  const [push, tag] = [events.getByLabel("pushes to branches"), events.getByLabel("tags")];
  await push.uncheck();
  await tag.click();
  expect(await tag.isChecked()).toBe(true);
  await events.getByText("At least one event stays selected").waitFor();
  await push.check();
  await events.getByText("At least one event").waitFor({ state: "detached" });
  await push.uncheck();

  expect(await stages.getByLabel("build").isChecked()).toBe(false);
  await stages.getByLabel("deploy").uncheck();
  await stages.getByLabel("start").click();
  expect(await stages.getByLabel("start").isChecked()).toBe(true);
  await stages.getByText("At least one stage stays selected").waitFor();
  await saveForms(page);
  expect(await stored()).toMatchObject({
    events: ["tag"],
    actions: { build: false, deploy: false, start: true },
  });
});

test("rules of merge requests are shown while merge requests are among the events", async () => {
  const { page } = view;
  await webhookPage({ events: ["push"] });
  const forks = page.getByRole("checkbox", { name: /^Also merge requests from forks/ });
  const choice = page.getByRole("combobox", { name: "Merge requests", exact: true });
  await page.getByRole("combobox", { name: "Build", exact: true }).waitFor();
  expect([await forks.count(), await choice.count()]).toEqual([0, 0]);
  await events.getByLabel("merge requests").check();
  await forks.waitFor();
  await choice.waitFor();
  await events.getByLabel("merge requests").uncheck();
  await forks.waitFor({ state: "detached" });
});

test("Enter saves from a text field only", async () => {
  const { page } = view;
  const { stored } = await webhookPage({ events: ["push"] });
  await events.getByLabel("tags").check();
  await page.keyboard.press("Enter");
  await page.getByRole("combobox", { name: "Branches" }).press("Enter");
  await page.getByRole("combobox", { name: "Build", exact: true }).focus();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  // A save has started before the key of the next field arrives.
  await page.getByLabel("Skip keyword", { exact: true }).fill("[no]");
  await saveBar(page).getByText("2 unsaved changes").waitFor();
  expect(await stored()).toMatchObject({ events: ["push"], skipCiKeyword: "[skip ci]" });
  await page.keyboard.press("Enter");
  await saveBar(page).waitFor({ state: "detached" });
  expect(await stored()).toMatchObject({ events: ["push", "tag"], skipCiKeyword: "[no]" });
});

test("a push is simulated with the rules on the screen, saved or not", async () => {
  const { page } = view;
  const { stored } = await webhookPage({ branchFilter: ["main"] });
  const simulate = page.getByRole("button", { name: "Simulate a push" });
  const result = page.locator(".test-result");
  await page.getByLabel("Branch or tag").fill("next");
  await simulate.click();
  await result.getByText("The branch next matches none of main.").first().waitFor();
  await page.getByRole("combobox", { name: "Branches" }).fill("next");
  await page.keyboard.press("Enter");
  await page.getByText("The rules have changed since the last simulation").waitFor();
  expect(await result.count()).toBe(0);
  await simulate.click();
  await result.getByText("Decided with the unsaved rules above.").waitFor();
  expect(await result.locator(".state").getAttribute("data-state")).toBe("accepted");
  expect(await stored()).toMatchObject({ branchFilter: ["main"] });
  await page.getByRole("button", { name: "Start a deploy now" }).click();
  await page.getByRole("dialog").getByText("Unsaved changes of the rules are not applied").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await saveForms(page);
  await result.getByText("Decided with the unsaved rules above.").waitFor({ state: "detached" });
  expect(await result.locator(".state").getAttribute("data-state")).toBe("accepted");
});
