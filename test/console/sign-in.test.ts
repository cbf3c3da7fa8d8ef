import { afterAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { SignInProvider } from "../../src/config/sign-in-provider.ts";
import { adminPassword, startApiServer } from "../support/api-server.ts";
import { closeBrowser, closeContext, collectFaults, startBrowser } from "../support/browser.ts";
import { wide } from "../support/console-page.ts";
import { dexPassword, startDex } from "../support/dex.ts";
import { freePort } from "../support/free-port.ts";
import { giteaPassword, startGitea } from "../support/gitea.ts";
import { longTest } from "../support/long-test.ts";
import { serviceUrl } from "../support/services.ts";
import { providerSettings } from "../support/sign-in-scene.ts";

longTest(180_000);

const [giteaFolder, dexFolder] = [await serviceUrl("gitea"), await serviceUrl("dex")];
const browser = await startBrowser();
afterAll(() => closeBrowser(browser));

/** A server whose console has the button of one provider. */
async function startWith(
  makeProvider: (redirectAddress: string) => Promise<SignInProvider>,
  settings: Parameters<typeof startApiServer>[0] = {},
) {
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const provider = await makeProvider(`${url}/sign-in/company`);
  const server = await startApiServer({
    "server.listen": { host: "127.0.0.1", port },
    "auth.providers": [provider],
    ...settings,
  });
  afterAll(() => server.stop());
  return server;
}

/** A new person at a browser of their own. */
async function visitor() {
  const context = await browser.newContext({ reducedMotion: "reduce", ...wide });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  return { page, faults: collectFaults(page), close: () => closeContext(context) };
}

describe.skipIf(giteaFolder === undefined)("with a real Gitea", async () => {
  const gitea = await startGitea(giteaFolder ?? "");
  afterAll(() => gitea.stop());
  for (const name of ["ann", "bob", "mallory"]) await gitea.addPerson(name);
  await gitea.as("ann", "POST", "/orgs", { username: "acme" });
  const teams = (await gitea.as("ann", "GET", "/orgs/acme/teams")) as { id: number; name: string }[];
  const owners = teams.find(({ name }) => name === "Owners")?.id;
  await gitea.as("ann", "PUT", `/teams/${owners}/members/bob`);
  const server = await startWith(async (redirectAddress) => {
    const application = { name: "Slipway", redirect_uris: [redirectAddress], confidential_client: true };
    const made = (await gitea.as("root", "POST", "/user/applications/oauth2", application)) as {
      client_id: string;
      client_secret: string;
    };
    return providerSettings({
      ...{ type: "gitea", name: "company", title: "Gitea", address: gitea.url },
      ...{ clientId: made.client_id, clientSecret: made.client_secret },
      ...{ organisations: ["acme"], roles: [{ group: "acme:owners", admin: true }], newAccounts: true },
    });
  });

  /** Signs in at the pages of Gitea, and allows the application. */
  async function atGitea(page: Page, name: string) {
    await page.locator("#user_name").fill(name);
    await page.locator("#password").fill(giteaPassword);
    await page.locator("#password").press("Enter");
    await page.locator("#authorize-app").click();
  }

  test("a member signs in by a button, comes back to the page of before, and has the roles of the organisation", async () => {
    const { page, faults, close } = await visitor();
    await page.goto(`${server.url}/activity?search=shop`);
    await page.getByRole("button", { name: "Sign in with Gitea" }).click();
    await atGitea(page, "bob");
    await page.waitForURL(`${server.url}/activity?search=shop`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const { items } = await server.admin.expect<{ items: object[] }>(200, "GET", "/api/users");
    expect(items).toContainEqual(expect.objectContaining({ username: "bob", role: "admin" }));
    await page.goto(`${server.url}/account`);
    const row = page.getByRole("row").filter({ hasText: "Gitea" }).first();
    expect(await row.textContent()).toContain("bob");
    // The second time Gitea asks nothing.
    await page.request.post(`${server.url}/api/auth/logout`, { headers: { "x-slipway-csrf": "1" } });
    await page.goto(server.url);
    await page.getByRole("button", { name: "Sign in with Gitea" }).click();
    await page.waitForURL(`${server.url}/`);
    await page.getByRole("navigation").first().waitFor();
    expect(faults).toEqual([]);
    await close();
  });

  test("somebody who is in no organisation is refused in words", async () => {
    const { page, close } = await visitor();
    await page.goto(server.url);
    await page.getByRole("button", { name: "Sign in with Gitea" }).click();
    await atGitea(page, "mallory");
    const alert = page.getByRole("alert");
    expect(await alert.textContent()).toMatch(/may not come in here|did not say which groups/);
    expect(page.url()).toBe(`${server.url}/sign-in/company`);
    await page.getByRole("link", { name: "Back to the sign-in page" }).click();
    await page.getByLabel("Username").waitFor();
    await close();
  });

  test("somebody whose name a user has already gives that user's password once", async () => {
    const { id } = await server.newUser("ann");
    const { page, close } = await visitor();
    await page.goto(server.url);
    await page.getByRole("button", { name: "Sign in with Gitea" }).click();
    await atGitea(page, "ann");
    await page.getByText("No user of Slipway is linked to the account ann").waitFor();
    await page.getByLabel("Password").first().fill("a wrong password");
    await page.getByRole("button", { name: "Link and sign in" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Password").first().fill("the password of a test user");
    await page.getByRole("button", { name: "Link and sign in" }).click();
    await page.getByRole("navigation").first().waitFor();
    const me = await page.request.get(`${server.url}/api/auth/me`);
    expect(await me.json()).toMatchObject({ id, username: "ann", role: "admin" });
    const admin = await visitor();
    await admin.page.goto(`${server.url}/users`);
    await admin.page.getByLabel("Username").fill("admin");
    await admin.page.getByLabel("Password").first().fill(adminPassword);
    await admin.page.getByRole("button", { name: "Sign in", exact: true }).click();
    await admin.page.getByRole("button", { name: "Change ann" }).click();
    await admin.page.getByRole("menuitem", { name: "Linked accounts" }).click();
    await admin.page.getByRole("button", { name: "Unlink ann" }).click();
    await admin.page.getByRole("button", { name: "Unlink", exact: true }).last().click();
    await admin.page.getByText("None is linked to this user.").waitFor();
    expect((await page.request.get(`${server.url}/api/auth/me`)).status()).toBe(401);
    expect(admin.faults).toEqual([]);
    await admin.close();
    await close();
  });
});

describe.skipIf(dexFolder === undefined)("with a real Dex", async () => {
  let stop: () => Promise<void> = async () => {};
  afterAll(() => stop());
  const startProvider = async (redirectAddress: string) => {
    const dex = await startDex(dexFolder ?? "", redirectAddress);
    stop = dex.stop;
    const { url: address, clientId, clientSecret } = dex;
    return providerSettings({
      ...{ name: "company", title: "Dex", address, clientId, clientSecret },
      ...{ loginClaim: "name", domains: ["example.com"], newAccounts: true },
    });
  };
  const server = await startWith(startProvider, { "auth.refreshInterval": 2_000 });

  async function atDex(page: Page, name: string) {
    await page.locator("#login").fill(`${name}@example.com`);
    await page.locator("#password").fill(dexPassword);
    await page.locator("#submit-login").click();
  }

  test("a person signs in, the session is refreshed, and ends here", async () => {
    const { page, faults, close } = await visitor();
    await page.goto(server.url);
    await page.getByRole("button", { name: "Sign in with Dex" }).click();
    await atDex(page, "ann");
    await page.waitForURL(`${server.url}/`);
    await page.getByRole("navigation").first().waitFor();
    const identities = async () =>
      (await (await page.request.get(`${server.url}/api/auth/identities`)).json()) as {
        items: { login: string; lastUsedAt: string }[];
      };
    const [first] = (await identities()).items;
    expect(first?.login).toBe("ann");
    while ((await identities()).items[0]?.lastUsedAt === first?.lastUsedAt) await Bun.sleep(100);
    await page.request.post(`${server.url}/api/auth/logout`, { headers: { "x-slipway-csrf": "1" } });
    await page.goto(server.url);
    await page.getByLabel("Username").waitFor();
    expect(faults).toEqual([]);
    await close();
  });

  test("while it is away, an administrator gets in by password", async () => {
    await stop();
    stop = async () => {};
    const { page, close } = await visitor();
    await page.goto(server.url);
    await page.getByLabel("Username").fill("admin");
    await page.getByLabel("Password").first().fill(adminPassword);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("navigation").first().waitFor();
    await close();
  });
});
