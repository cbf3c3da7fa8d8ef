import { afterAll, expect, test } from "bun:test";
import { dirname } from "node:path";
import { userPassword } from "../support/api-server.ts";
import { openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { startDeployServer } from "../support/deploy-server.ts";
import { serveGit } from "../support/git-http-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { deliverTo } from "../support/hook.ts";
import { startHostService } from "../support/host-services.ts";

const { browser, server } = await setUpConsole();
const view = await openConsole(browser, server.url);
/** A server that Git hosts can reach, as far as it knows. */
const publicServer = await startDeployServer({
  "server.baseUrl": "https://slipway.example.com",
  "tasks.allowInternalNotifications": true,
});
const connected = await openConsole(browser, publicServer.url);
const repository = await makeRepository();
const token = "a token of the host";
const host = serveGit(dirname(repository.url), { username: "git", token });
afterAll(async () => {
  host.stop();
  repository.remove();
  await publicServer.stop();
  publicServer.remove();
  expect([...view.faults, ...connected.faults]).toEqual([]);
});

test("from a pasted clone URL to the first deploy: credential, suggested stages, webhook, and a push that arrives live", async () => {
  const { page, go } = view;
  await repository.push({
    "package.json": JSON.stringify({ scripts: { build: "true", start: "node server.js" } }),
    "package-lock.json": "{}",
  });
  await go("/");
  await page.getByRole("link", { name: "Add your own project" }).click();
  await page.getByLabel("Clone URL").fill(`${host.url}/shop.git`);
  // A private repository is no error, and one question is asked at a time.
  await page.getByText("The repository is private, or the address is wrong").waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);

  expect(await page.getByRole("button", { name: "Add the project" }).count()).toBe(0);
  await page.getByLabel("Access token").fill("wrong");
  await page.getByRole("button", { name: "Check the credential" }).click();
  await page.getByText("Couldn't read the repository").waitFor();
  await page.getByLabel("Access token").fill(token);
  await page.getByLabel("Access token").press("Enter");
  await page.getByText("Slipway can read the repository: 1 branch.").waitFor();

  expect(await page.getByRole("textbox", { name: "Name", exact: true }).inputValue()).toBe("shop");
  expect(await page.getByRole("combobox", { name: "Branch or tag" }).inputValue()).toBe("main");
  expect(await page.getByRole("combobox", { name: "Start from" }).inputValue()).toBe(
    "Node service (found package.json)",
  );
  const build = page.getByRole("textbox", { name: "build", exact: true });
  expect(await build.inputValue()).toBe("npm ci --cache .npm --no-audit --no-fund\nnpm run build");
  expect(await page.getByRole("textbox", { name: "Service web" }).inputValue()).toBe("npm run start");
  expect(await page.getByRole("textbox", { name: "NODE_ENV" }).inputValue()).toBe("production");
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
  // What is pasted needs no other change.
  const pasted = await page.locator("pre").filter({ hasText: "SECRET=" }).allTextContents();
  expect(pasted.map((text) => text.includes(`SECRET='${secret}'`))).toEqual([true, true]);
  await deliverTo(url, {
    payload: { event: "push", ref: "main", message: "First" },
    headers: { "x-cicd-token": secret },
  });
  await page.locator('.arrival[data-tone="success"]').waitFor();
  await page.getByRole("heading", { name: "Your push arrived" }).waitFor();
  await page.locator('.state[data-state="success"]').waitFor({ timeout: 60_000 });
  await page.getByRole("link", { name: "Watch the deploy" }).click();
  await page.waitForURL("**/tasks/1");

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
});

test("a field that the user changed is kept when a suggestion arrives", async () => {
  const { page, go } = view;
  await go("/projects/new");
  await page.getByLabel("Clone URL").fill(`${dirname(repository.url)}/missing.git`);
  await page.getByRole("button", { name: "Continue without reading the repository" }).click();
  await page.getByLabel("Name").fill("my name");
  await page.getByRole("textbox", { name: "Service web" }).fill("./own");
  await page.getByLabel("Clone URL").fill(repository.url);
  await page.getByText("Slipway can read the repository").waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("my name");
  expect(await page.getByRole("textbox", { name: "Service web" }).inputValue()).toBe("./own");
  await page.getByRole("textbox", { name: "build", exact: true }).and(page.locator(":not(:empty)")).waitFor();
  await page.locator(".side").getByRole("link", { name: "Activity" }).click();
  await page.getByRole("button", { name: "Leave without saving" }).click();
});

test("a preset that changes the machine itself creates host steps for an admin, and tells others to ask one", async () => {
  const site = await makeRepository();
  await site.push({ "index.html": "<h1>Shop</h1>" });
  const { id: groupId } = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", {
    name: "sites",
  });
  const { id: userId } = await server.admin.expect<{ id: number }>(201, "POST", "/api/users", {
    username: "gil",
    password: userPassword,
  });
  await server.admin.expect(200, "PUT", `/api/groups/${groupId}/members/${userId}`, { permission: "manage" });
  const gil = await openConsole(browser, server.url, wide, { username: "gil", password: userPassword });

  async function addSite({ page, go }: typeof view, name: string): Promise<Record<string, unknown>[]> {
    await go("/projects/new");
    await page.getByLabel("Clone URL").fill(site.url);
    await page.getByText("Slipway can read the repository").waitFor();
    await page.getByText("runner.hostSteps: true").waitFor();
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("SITE_DIR").fill("/srv/www/shop");
    await page.getByRole("button", { name: "Add the project" }).click();
    await page.waitForURL(/projects\/\d+\/set-up/);
    const id = /projects\/(\d+)/.exec(page.url())?.[1];
    const { pipeline } = await server.admin.expect<{ pipeline: { deploy: Record<string, unknown>[] } }>(
      200,
      "GET",
      `/api/projects/${id}`,
    );
    return pipeline.deploy;
  }
  const deploysTo = (host: boolean) => [
    expect.objectContaining({ host, script: expect.stringContaining("SITE_DIR") }),
  ];
  expect(await addSite(view, "by admin")).toEqual(deploysTo(true));
  expect(await addSite(gil, "by gil")).toEqual(deploysTo(false));
  expect(gil.faults).toEqual([]);
  await gil.close();
  site.remove();
});

test("a delivery that starts no task offers to deploy now", async () => {
  const { page, go } = view;
  const id = await server.project(repository.url, {});
  await go(`/projects/${id}/set-up`);
  await page.getByText("The secret is shown only now.").waitFor();
  const [url = "", secret = ""] = await page.locator(".copy-text code").allTextContents();
  await deliverTo(url, {
    payload: { event: "push", ref: "refs/heads/other" },
    headers: { "x-cicd-token": secret },
  });
  await page.locator(".arrival").getByText("other").waitFor();
  await page.getByRole("button", { name: "Start a deploy now" }).waitFor();
  expect(await page.getByText("state.").count()).toBe(0);
});

test("a repository of this machine needs no public address of the server", async () => {
  const { page, go } = view;
  for (const [url, isTold] of [
    [repository.url, false],
    ["https://git.example.com/shop.git", true],
  ] as const) {
    const id = await server.project(url, {});
    await go(`/projects/${id}/set-up`);
    await page.getByText("The secret is shown only now.").waitFor();
    expect((await page.getByText("server.baseUrl").count()) > 0).toBe(isTold);
  }
});

test("a Git host is connected, a repository chosen out of many, and webhook and deploy key are created without another visit", async () => {
  const { page, go } = connected;
  await repository.push({ "package.json": '{"scripts":{"start":"node server.js"}}' });
  const gitea = startHostService("gitea");
  const clones = serveGit(dirname(repository.url), { username: "ann", token: gitea.token });
  gitea.gitServer = clones.url;
  const others = Array.from({ length: 120 }, (_, number) => ({ path: `ann/app-${number}`, isAdmin: true }));
  gitea.repositories.unshift(...others);

  await go("/projects/new");
  await page.getByRole("button", { name: "Connect a Git host" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Git host").first().selectOption("gitea");
  await dialog.getByLabel("Address of the Git host").fill(gitea.origin);
  await dialog.getByText("A token with the scopes write:repository and read:user.").waitFor();
  const tokenPage = dialog.getByRole("link", { name: "Create a token at the Git host" });
  expect(await tokenPage.getAttribute("href")).toBe(`${gitea.origin}/user/settings/applications`);
  gitea.scopes.splice(0, 9, "read:repository", "read:user");
  await dialog.getByLabel("Token", { exact: false }).last().fill(gitea.token);
  await dialog.getByRole("button", { name: "Connect", exact: true }).click();
  await dialog.getByText("of ann lacks the scope write:repository").waitFor();
  gitea.scopes.splice(0, 9, "write:repository", "read:user");
  await dialog.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByText(`Connected to ${gitea.origin} as ann.`).waitFor();

  const chooser = page.getByRole("combobox", { name: "Your repositories" });
  await page.getByText("Not all are listed.").waitFor();
  await chooser.click();
  await page.getByRole("option", { name: "ann/app-7", exact: true }).waitFor();
  await chooser.fill("sho");
  await page.getByRole("option", { name: "ann/shop" }).click();
  expect(await page.getByLabel("Clone URL").inputValue()).toBe("git@127.0.0.1:ann/shop.git");
  await page.getByText(`Slipway reads it with your token for ${gitea.origin}.`).waitFor();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("chosen");
  await page.getByRole("button", { name: "Add the project" }).click();
  await page.getByText("The webhook is in place").waitFor();
  await page.getByText("A read-only deploy key exists too.").waitFor();
  expect([gitea.hooks.size, [...gitea.keys.values()].map(({ isReadOnly }) => isReadOnly)]).toEqual([
    1,
    [true],
  ]);
  const { pathname } = new URL(page.url());
  const id = pathname.split("/")[2];

  await go("/account");
  const listed = page.getByRole("row").filter({ hasText: gitea.origin });
  await listed.getByText("write:repository").waitFor();
  await listed.getByRole("button", { name: `Forget the token for ${gitea.origin}` }).click();
  await dialog.getByRole("button", { name: "Forget the token" }).click();
  await page.getByText("No Git host is connected.").waitFor();
  await go(`/projects/${id}/settings/rules`);
  await page.getByText("It is not checked any more, because the token was deleted.").waitFor();
  await go(`/projects/${id}/settings/source`);
  await page.getByRole("button", { name: "Delete the project" }).click();
  await dialog.getByText(`The webhook that Slipway created at ${gitea.origin} stays there`).waitFor();
  await page.keyboard.press("Escape");
  gitea.stop();
  clones.stop();
}, 180_000);

test("with a token of the Git host the webhook is created, a deleted one is shown and repaired with one click, and both go with the project", async () => {
  const { page, go } = connected;
  const gitea = startHostService("gitea");
  const id = await publicServer.project(gitea.cloneUrl, { build: "true" }, { name: "hosted" });
  await publicServer.admin.expect(200, "PUT", `/api/projects/${id}/webhook`, { provider: "gitea" });
  await go(`/projects/${id}/settings/rules`);
  await page.getByRole("button", { name: "Create the webhook with a token" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.getByLabel("Address of the Git host").inputValue()).toBe(gitea.origin);
  await dialog.getByLabel("Token", { exact: false }).last().fill("wrong");
  await dialog.getByRole("button", { name: "Create the webhook" }).click();
  await dialog.getByText("the token is not valid (401)").waitFor();
  await dialog.getByLabel("Token", { exact: false }).last().fill(gitea.token);
  await dialog.getByRole("button", { name: "Create the webhook" }).click();
  await page.getByText("The webhook is in place").waitFor();
  expect(gitea.hooks.size).toBe(1);
  const { branchFilter } = await publicServer.admin.expect<{ branchFilter: string[] }>(
    200,
    "GET",
    `/api/projects/${id}/webhook`,
  );
  expect(branchFilter).toEqual(["main"]);

  gitea.hooks.clear();
  await page.getByRole("button", { name: "Check now" }).click();
  await page.getByText("The webhook was deleted at the Git host").waitFor();
  await page.getByRole("button", { name: "Repair the webhook" }).click();
  await page.getByText("The webhook is in place").waitFor();
  expect(gitea.hooks.size).toBe(1);

  gitea.name = "";
  await page.getByRole("button", { name: "Check now" }).click();
  await page.getByText("it was deleted or renamed").waitFor();
  await page.getByRole("button", { name: "Forget the webhook" }).click();
  await dialog.getByRole("button", { name: "Forget the webhook" }).click();
  await page.getByText("it was deleted or renamed").waitFor({ state: "detached" });
  gitea.name = "ann/shop";
  await page.getByRole("button", { name: "Create the webhook", exact: true }).click();
  await page.getByText("The webhook is in place").waitFor();
  expect(gitea.hooks.size).toBe(1);

  await go("/projects/new");
  await page.getByLabel("Clone URL").fill(gitea.cloneUrl);
  // One token reads the repository and creates the webhook.
  await page.getByLabel("Access token").fill(gitea.token);
  await page.getByLabel("Also create the webhook with this token").check();
  await page.getByRole("button", { name: "Continue without reading the repository" }).click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("second");
  await page.getByRole("button", { name: "Add the project" }).click();
  await page.getByText("The webhook is in place").waitFor();
  expect(gitea.hooks.size).toBe(2);
  expect(await page.getByText("The secret is shown only now.").count()).toBe(0);

  await go(`/projects/${id}/settings/source`);
  await page.getByRole("button", { name: "Delete the project" }).click();
  gitea.failWith = 503;
  await dialog.getByRole("textbox").fill("hosted");
  await dialog.getByRole("button", { name: "Delete the project" }).click();
  await dialog.getByText("the webhook: the server has a problem (503).").waitFor();
  await dialog.getByText("To delete it and keep these at the host, clear the check mark.").waitFor();
  gitea.failWith = null;
  await dialog.getByLabel(`Also delete the webhook and the deploy key at ${gitea.origin}`).waitFor();
  await dialog.getByRole("textbox").fill("hosted");
  await dialog.getByRole("button", { name: "Delete the project" }).click();
  await page.getByRole("heading", { name: "Home" }).waitFor();
  expect(gitea.hooks.size).toBe(1);
  gitea.stop();
});
