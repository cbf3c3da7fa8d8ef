import { afterAll, expect, test } from "bun:test";
import { openConsole, saveBar, saveForms } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });
const view = await openConsole(browser, server.url);
afterAll(() => expect(view.faults).toEqual([]));

test("a user is added, and an error of the server appears at its field", async () => {
  const { page, go } = view;
  await go("/users");
  await page.getByRole("button", { name: "Add a user" }).click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Username").fill("ann");
  await form.getByLabel("Password").first().fill("short");
  await form.getByRole("button", { name: "Add the user" }).click();
  await form.getByText("must have at least 8 characters").first().waitFor();
  await form.getByLabel("Password").first().fill("a good long sentence");
  await form.getByRole("button", { name: "Add the user" }).click();
  await page.getByRole("cell", { name: "ann", exact: true }).waitFor();
});

test("a group gets a member, a token is shown once, a runner is registered, and the audit log lists all of it", async () => {
  const { page, go } = view;
  await go("/groups");
  await page.getByRole("button", { name: "Add a group" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Storefront");
  await page.getByRole("button", { name: "Add the group" }).click();
  // The beginning of a name is enough.
  await page.getByLabel("User", { exact: false }).first().fill("an");
  await page.getByRole("option", { name: "ann", exact: true }).click();
  await page.getByRole("button", { name: "Add the member" }).click();
  await page.getByRole("button", { name: "Remove ann" }).waitFor();

  await go("/tokens");
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("nightly");
  await page.getByRole("button", { name: "Create the token" }).click();
  const shown = page.getByRole("dialog").filter({ hasText: "Your new token" });
  const token = await shown.locator("code").last().textContent();
  expect(
    (await fetch(`${server.url}/api/auth/me`, { headers: { authorization: `Bearer ${token}` } })).status,
  ).toBe(200);
  await shown.getByRole("button", { name: "I've copied it" }).click();
  await page.getByRole("cell", { name: "nightly", exact: true }).waitFor();
  await shown.waitFor({ state: "detached" });
  expect(await page.content()).not.toContain(String(token));

  await go("/runners");
  await page.getByRole("button", { name: "Register a runner" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("build-2");
  await page.getByRole("button", { name: "Register the runner" }).click();
  await page.getByRole("button", { name: "I've copied it" }).click();
  await page.getByRole("cell", { name: /^build-2/ }).waitFor();

  await go("/audit");
  for (const action of ["user: created", "group: member saved", "token: created", "runner: created"])
    await page.getByText(action).first().waitFor();
});

test("a project is added, its stages, environment, secrets and notifications are saved", async () => {
  const { page, go } = view;
  await go("/projects/new");
  const form = page.locator("main form");
  await form.getByLabel("Clone URL").fill("ftp://nowhere");
  await form.getByLabel("Clone URL").blur();
  await form.getByText("must start with https:// or ssh://", { exact: false }).first().waitFor();
  await form.getByLabel("Clone URL").fill("https://git.example.com/shop.git");
  await form.getByText("Couldn't read the repository").waitFor();
  await form.getByRole("button", { name: "Continue without reading the repository" }).click();
  expect(await form.getByLabel(/^Name/).inputValue()).toBe("shop");
  await form.getByRole("button", { name: "Add the project" }).click();
  await page.waitForURL("**/set-up");
  await page.getByText("Waiting for the first delivery").waitFor();
  await go("/projects/1/settings/pipeline");

  const panel = (title: string) =>
    page.locator(".panel").filter({ has: page.getByRole("heading", { name: title, exact: true }) });
  const section = (name: string) =>
    page.getByRole("navigation", { name: "Settings" }).getByRole("link", { name }).click();
  await page.getByRole("textbox", { name: "build", exact: true }).fill("make");
  await saveForms(page);
  await page.getByText("Saved.").first().waitFor();
  await section("Variables and secrets");
  await panel("Environment variables").getByRole("button", { name: "Add a variable" }).click();
  await panel("Environment variables").getByLabel("Name").fill("NODE_ENV");
  await panel("Environment variables").getByLabel("Value of NODE_ENV").fill("production");
  await saveForms(page);
  await panel("Secrets").getByLabel("Name").fill("DEPLOY_TOKEN");
  await panel("Secrets").getByLabel("Value").first().fill("hunter2hunter2");
  await panel("Secrets").getByRole("button", { name: "Store the secret" }).click();
  await panel("Secrets").getByRole("button", { name: "Delete DEPLOY_TOKEN" }).waitFor();
  const stagesOfToken = panel("Secrets").getByRole("combobox", { name: "Stages that get DEPLOY_TOKEN" });
  expect(await stagesOfToken.inputValue()).toBe("All stages");
  await stagesOfToken.click();
  await page.getByRole("option", { name: "Only deploy and start" }).click();
  await page.getByText("The use of DEPLOY_TOKEN is saved.").waitFor();
  await section("Notifications");
  await panel("Notifications").getByRole("button", { name: "Add an address" }).click();
  await panel("Notifications")
    .getByRole("textbox", { name: "Address" })
    .fill("https://chat.example.com/hook");
  await saveForms(page);

  const { items } = await server.admin.expect<{ items: Record<string, unknown>[] }>(
    200,
    "GET",
    "/api/projects",
  );
  expect(items[0]).toMatchObject({
    name: "shop",
    stages: { build: { script: "make" } },
    env: { NODE_ENV: "production" },
    secretNames: ["DEPLOY_TOKEN"],
    secrets: [{ name: "DEPLOY_TOKEN", scope: "deploy" }],
    notify: [{ url: "https://chat.example.com/…", format: "slipway", events: [] }],
  });
});

test("storing a credential in the settings does not save other edited fields", async () => {
  const { page, go } = view;
  await go("/projects/1/settings");
  await page.getByLabel("Name").first().fill("half a na");
  await page.getByRole("button", { name: "Add a credential" }).click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Token", { exact: false }).last().fill("a token of the host");
  await form.getByRole("button", { name: "Store the credential" }).click();
  await page.getByRole("button", { name: "Delete the credential" }).waitFor();
  await saveBar(page).getByText("1 unsaved change").waitFor();
  await saveBar(page).getByRole("button", { name: "Discard" }).click();
  expect(await page.getByLabel("Name").first().inputValue()).toBe("shop");
  const { name } = await server.admin.expect<{ name: string }>(200, "GET", "/api/projects/1");
  expect(name).toBe("shop");
});

test("only changed fields of a project are saved: changes of other users stay", async () => {
  const { page, go } = view;
  await go("/projects/1/settings/pipeline");
  await page.getByRole("textbox", { name: "build", exact: true }).fill("make all");
  await server.admin.expect(200, "PATCH", "/api/projects/1", {
    git: { ref: "next" },
    stages: { deploy: { script: "make deploy", timeout: 60 } },
  });
  await saveForms(page);
  await go("/projects/1/settings/source");
  await page.getByLabel("Clone submodules too").check();
  await server.admin.expect(200, "PATCH", "/api/projects/1", { supersede: "queued" });
  await saveForms(page);
  expect(await server.admin.expect(200, "GET", "/api/projects/1")).toMatchObject({
    name: "shop",
    supersede: "queued",
    git: { ref: "next", submodules: true },
    stages: { build: { script: "make all" }, deploy: { script: "make deploy", timeout: 60 } },
  });
});

test("a dialog that is opened again is empty", async () => {
  const { page, go } = view;
  await go("/projects/1/settings");
  const form = page.getByRole("dialog");
  const token = form.getByLabel(/^Token/);
  const openAndType = async () => {
    await page.getByRole("button", { name: "Replace the credential" }).click();
    expect(await token.inputValue()).toBe("");
    expect(await token.getAttribute("type")).toBe("password");
    await token.fill("another token of the host");
  };
  await openAndType();
  await form.getByRole("button", { name: "Store the credential" }).click();
  await form.waitFor({ state: "detached" });
  await openAndType();
  await form.getByRole("button", { name: "Cancel" }).click();
  await form.waitFor({ state: "detached" });
  await openAndType();

  await go("/users");
  await page.getByRole("button", { name: "Add a user" }).click();
  await form.getByLabel("Username").fill("cy");
  await form.getByLabel("Password").first().fill("a good long sentence");
  await form.getByRole("button", { name: "Add the user" }).click();
  await form.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Add a user" }).click();
  expect(await form.getByLabel("Username").inputValue()).toBe("");
  expect(await form.getByLabel("Password").first().inputValue()).toBe("");
});

test("a new password ends API tokens unless they are kept", async () => {
  const { page, go } = view;
  const user = { username: "tess", password: "a good long sentence" };
  await server.admin.expect(201, "POST", "/api/users", user);
  const session = await server.admin.expect<{ token: string }>(200, "POST", "/api/auth/login", user);
  const asTess = { authorization: `Bearer ${session.token}`, "content-type": "application/json" };
  const body = JSON.stringify({ name: "ci", scopes: ["read"] });
  const made = await fetch(`${server.url}/api/tokens`, { method: "POST", headers: asTess, body });
  const { token } = (await made.json()) as { token: string };
  const statusOf = async () =>
    (await fetch(`${server.url}/api/auth/me`, { headers: { authorization: `Bearer ${token}` } })).status;

  const form = page.getByRole("dialog");
  const setPassword = async (isKept: boolean) => {
    await go("/users");
    await page.getByRole("button", { name: "Change tess" }).click();
    await page.getByRole("menuitem", { name: "Set a password" }).click();
    await form.getByLabel("Password").first().fill("another good sentence");
    if (isKept) await form.getByLabel("Keep the API tokens").check();
    await form.getByRole("button", { name: "Set the password" }).click();
    await form.waitFor({ state: "detached" });
  };
  await setPassword(true);
  expect(await statusOf()).toBe(200);
  await setPassword(false);
  expect(await statusOf()).toBe(401);

  await go("/account");
  await page.getByLabel("Keep my API tokens").waitFor();
  expect(await page.getByLabel("Keep my API tokens").isChecked()).toBe(false);
});

test("the push page connects, publishes, counts the receivers and kicks", async () => {
  const { page, go } = view;
  await go("/push/playground");
  await page.getByLabel("As user").fill("visitor-7");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  const stream = page.getByLabel("Received messages");
  await stream.getByText("connected as visitor-7").waitFor();
  await page.getByRole("combobox", { name: "To" }).click();
  await page.getByRole("option", { name: "one user", exact: true }).click();
  await page.getByLabel("User ID").fill("visitor-7");
  await page.getByLabel(/^Message/).fill("<b>hello</b>");
  await page.getByRole("button", { name: "Publish the message" }).click();
  await page.getByText("1 connection received it.").waitFor();
  await stream.getByText("user visitor-7: <b>hello</b>").waitFor();
  await page.getByRole("tab", { name: "Monitor" }).click();
  await page.getByRole("cell", { name: "visitor-7", exact: true }).waitFor();
  await page.getByRole("button", { name: "Disconnect visitor-7" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  await page.getByText("Nobody is online.", { exact: false }).waitFor();
});
