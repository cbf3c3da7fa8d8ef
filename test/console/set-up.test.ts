import { afterAll, expect, test } from "bun:test";
import { dirname } from "node:path";
import { openConsole } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { serveGit } from "../support/git-http-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { deliverTo } from "../support/hook.ts";

const { browser, server } = await setUpConsole();
const view = await openConsole(browser, server.url);
const repository = await makeRepository();
const token = "a token of the host";
const host = serveGit(dirname(repository.url), { username: "git", token });
afterAll(() => {
  host.stop();
  repository.remove();
  expect(view.faults).toEqual([]);
});

test("from a pasted clone URL to the first deploy: credential, suggested stages, webhook, and a push that arrives live", async () => {
  const { page, go } = view;
  await repository.push({
    "package.json": JSON.stringify({ scripts: { build: "true", start: "node server.js" } }),
    "package-lock.json": "{}",
  });
  await go("/projects");
  await page.getByRole("button", { name: "Add a project" }).first().click();
  await page.getByLabel("Clone URL").fill(`${host.url}/shop.git`);
  await page.getByText("Couldn't read the repository").waitFor();
  await page.getByLabel("Access token").fill("wrong");
  await page.getByRole("button", { name: "Check the credential" }).click();
  await page.getByText("Couldn't read the repository").waitFor();
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Check the credential" }).click();
  await page.getByText("Slipway can read the repository (unknown host): 1 branch.").waitFor();

  expect(await page.getByLabel("Name").inputValue()).toBe("shop");
  expect(await page.getByRole("combobox", { name: "Branch or tag" }).inputValue()).toBe("main");
  expect(await page.getByRole("combobox", { name: "Start from" }).inputValue()).toBe(
    "Node service (found package.json)",
  );
  const build = page.getByRole("textbox", { name: "build", exact: true });
  expect(await build.inputValue()).toBe("npm ci --cache .npm --no-audit --no-fund\nnpm run build");
  await page.getByText("NODE_ENV=production, PORT=3000").waitFor();
  await page.getByRole("combobox", { name: "Start from" }).click();
  await page.getByRole("option", { name: "Empty scripts" }).click();
  expect(await build.inputValue()).toBe("");
  await build.fill("cat package.json");
  await page.getByRole("button", { name: "Add the project" }).click();

  await page.waitForURL("**/set-up");
  await page.getByText("The secret is shown only now.").waitFor();
  const [url = "", secret = ""] = await page.locator(".copy-text code").allTextContents();
  expect(url).toStartWith(`${server.url}/api/hooks/git/`);
  await page.getByText("Waiting for the first delivery").waitFor();
  await deliverTo(url, {
    payload: { event: "push", ref: "main", message: "First" },
    headers: { "x-cicd-token": secret },
  });
  await page.locator('.arrival[data-tone="success"]').waitFor();
  await page.getByRole("link", { name: "Go to the project" }).click();
  await page.getByRole("row").filter({ hasText: "success" }).first().waitFor({ timeout: 60_000 });

  const project = await server.admin.expect(200, "GET", "/api/projects/1");
  expect(project).toMatchObject({
    name: "shop",
    git: { ref: "main", credentialSet: true },
    stages: { build: { script: "cat package.json" } },
    env: {},
  });
  expect(JSON.stringify(project)).not.toContain(token);
  await go("/projects/1/set-up");
  await page.getByText("A secret is stored. It is not shown again.").waitFor();
}, 120_000);

test("a field that the user changed is kept when a suggestion arrives", async () => {
  const { page, go } = view;
  await go("/projects/new");
  await page.getByLabel("Name").fill("my name");
  await page.getByRole("textbox", { name: "start", exact: true }).fill("./own &");
  await page.getByLabel("Clone URL").fill(repository.url);
  await page.getByText("Slipway can read the repository").waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("my name");
  expect(await page.getByRole("textbox", { name: "start", exact: true }).inputValue()).toBe("./own &");
  await page.getByRole("textbox", { name: "build", exact: true }).and(page.locator(":not(:empty)")).waitFor();
  await page.locator(".side").getByRole("link", { name: "Tasks" }).click();
  await page.getByRole("button", { name: "Leave without saving" }).click();
}, 60_000);
