import { expect, test } from "bun:test";
import { openConsole, saveBar, saveForms } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { makeHook, sha } from "../support/hook.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });
const view = await openConsole(browser, server.url);

/** The page of a new project's webhook. */
async function webhookPage(webhook: object) {
  const git = { url: "https://git.example.com/shop.git" };
  const name = `shop ${crypto.randomUUID()}`;
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", { name, git });
  const path = `/api/projects/${id}/webhook`;
  await server.admin.expect(200, "PUT", path, { enabled: true, ...webhook });
  await view.go(`/projects/${id}/settings/rules`);
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

test("a made-up push is decided with the rules on the screen, saved or not", async () => {
  const { page } = view;
  const { stored } = await webhookPage({ branchFilter: ["main"] });
  const made = page.getByLabel("With a push that did not happen");
  await made.getByLabel("Branch or tag").fill("next");
  await made.getByText("The branch next matches none of main.").first().waitFor();
  await made.getByText("How it is decided").click();
  await page.getByLabel("Steps of the decision").getByText("stopped here").waitFor();
  await page.getByRole("combobox", { name: "Branches" }).fill("next");
  await page.keyboard.press("Enter");
  await made.locator('.state[data-state="accepted"]').waitFor();
  await page.getByRole("heading", { name: "What the unsaved rules do" }).waitFor();
  expect(await stored()).toMatchObject({ branchFilter: ["main"] });
  await saveForms(page);
  await page.getByRole("heading", { name: "What these rules do" }).waitFor();
  expect(await made.locator('.state[data-state="accepted"]').count()).toBe(1);
  const { items } = await server.admin.expect<{ items: object[] }>(200, "GET", "/api/webhooks/deliveries");
  expect(items).toEqual([]);
});

test("with deliveries and usual rules the page is at most 1,200 px high, and shows what the rules do beside all of them", async () => {
  const hook = await makeHook(server, { secret: "long enough", branchFilter: ["main", "release/**"] });
  for (let at = 0; at < 8; at++) {
    const payload = {
      event: "push",
      ref: at % 2 ? "main" : "try",
      commit: sha(`${at}`),
      message: `Change ${at}`,
    };
    await hook.deliver({
      payload: { ...payload, author: "ann" },
      headers: { "x-cicd-token": "long enough" },
    });
  }
  const laptop = await openConsole(browser, server.url, { viewport: { width: 1440, height: 900 } });
  const { page } = laptop;
  await laptop.go(`/projects/${hook.projectId}/settings/rules`);
  const effect = page.getByLabel("What these rules do");
  await effect.getByText("Change 7").waitFor();
  await effect.getByText("All filters passed.").last().waitFor();
  // The connection is one line, and the rules that are rarely changed are folded.
  await page.getByText("Deliveries arrive.").waitFor();
  expect(await page.getByRole("button", { name: "Generate a secret" }).isVisible()).toBe(false);
  expect(await page.getByRole("combobox", { name: "Further skip keywords" }).isVisible()).toBe(false);
  // What is still loading takes room of its own.
  await page.waitForFunction(() => document.documentElement.scrollHeight <= 1200);
  const skip = page.getByLabel("Skip keyword", { exact: true });
  await skip.scrollIntoViewIfNeeded();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  const boxes = async () => {
    const [rules, aside] = [await page.locator("#rules").boundingBox(), await effect.boundingBox()];
    if (rules === null || aside === null) throw new Error("not shown");
    return { rules, aside };
  };
  const beside = await boxes();
  expect(beside.aside.x).toBeGreaterThan(beside.rules.x + beside.rules.width);
  expect(beside.aside.y).toBeGreaterThanOrEqual(0);
  expect(beside.aside.y + beside.aside.height).toBeLessThanOrEqual(900);
  for (const width of [820, 390]) {
    await page.setViewportSize({ width, height: 900 });
    const below = await boxes();
    expect(below.aside.y).toBeGreaterThan(below.rules.y + below.rules.height);
  }
  await page.getByRole("button", { name: "Connection" }).click();
  await page.getByRole("button", { name: "Generate a secret" }).waitFor();
  await laptop.close();
});

test("advanced rules are open where a project has other ones than usual", async () => {
  const { page } = view;
  const keywords = page.getByRole("combobox", { name: "Further skip keywords" });
  await webhookPage({});
  await page.getByText("Advanced").waitFor();
  expect(await keywords.isVisible()).toBe(false);
  await page.getByText("Advanced").click();
  await keywords.waitFor();
  await webhookPage({ queuePolicy: "skip" });
  await keywords.waitFor();
});

test("a push that was rejected for its signature is shown as rejected, whatever the rules say about it", async () => {
  const { page } = view;
  const hook = await makeHook(server, {});
  await hook.save({ provider: "gitlab", secret: "k3vP0xq1nYt8Jr5sW2mZ7uB4cE6hL9aD" });
  const body = JSON.stringify({ ref: "refs/heads/main", checkout_sha: sha("a"), commits: [] });
  await hook.deliver({ body, headers: { "x-gitlab-event": "Push Hook", "x-gitlab-token": "another" } });
  await view.go(`/projects/${hook.projectId}/settings/rules`);
  const row = page.getByRole("region", { name: "With the last pushes" }).getByRole("listitem").first();
  await row.getByText("rejected", { exact: true }).waitFor();
  await row.getByText("By the rules alone: accepted. The signature failed", { exact: false }).waitFor();
  await row.getByRole("link").click();
  await page.getByRole("link", { name: "Check the secret" }).click();
  await page.waitForURL(`**/projects/${hook.projectId}/settings/source#secret`);
  await page.getByRole("button", { name: "Generate" }).first().waitFor();
});
