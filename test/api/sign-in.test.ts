import { beforeEach, describe, expect, test } from "bun:test";
import { adminPassword, userPassword } from "../support/api-server.ts";
import { eventually } from "../support/eventually.ts";
import type { TestAccount } from "../support/openid-provider.ts";
import { newBrowser, type TestBrowser } from "../support/sign-in-browser.ts";
import { setUpProviders } from "../support/sign-in-scene.ts";

const { server, good, other } = await setUpProviders(
  {
    good: {
      newAccounts: true,
      roles: [
        { group: "acme/ops", admin: true },
        { group: "acme/web", member: "Web", permission: "view" },
        { group: "acme/leads", member: "Web", permission: "manage" },
        { group: "acme/gone", member: "Nowhere", permission: "view" },
      ],
    },
    other: { domains: ["example.com"], roles: [{ group: "acme/ops", admin: true }] },
  },
  { "auth.refreshInterval": 1_000, "auth.local": "admins" },
);
const { id: webId } = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "Web" });

const ann: TestAccount = { sub: "a-1", preferred_username: "ann", groups: [] };

beforeEach(() => {
  good.brokenStatus = null;
  good.aheadMs = 0;
  good.tamper = (claims) => claims;
  good.userInfo = null;
});

interface SignedIn {
  user: { id: number; username: string; role: string };
}

async function enter(account: TestAccount, provider = "good") {
  const browser = newBrowser(server.url);
  const at = provider === "good" ? good : other;
  const answer = await browser.finish(provider, at.agree(await browser.begin(provider), account));
  return { browser, answer, ...(answer.body as SignedIn) };
}

const faultOf = ({ body }: { body: unknown }) => (body as { error: { message: string } }).error.message;
const isIn = async (browser: TestBrowser) => (await browser.request("GET", "/api/auth/me")).status === 200;
const permissionOf = async (userId: number) => {
  const path = `/api/groups/${webId}/members`;
  const { items } = await server.admin.expect<{ items: { userId: number; permission: string }[] }>(
    200,
    "GET",
    path,
  );
  return items.find((member) => member.userId === userId)?.permission ?? null;
};
const newUser = async (username: string) => {
  const body = { username, password: userPassword };
  return (await server.admin.expect<{ id: number }>(201, "POST", "/api/users", body)).id;
};
const roleOf = async (userId: number) =>
  (await server.admin.expect<{ role: string }>(200, "GET", `/api/users/${userId}`)).role;
const auditOf = async (action: string) =>
  (await server.admin.expect<{ items: object[] }>(200, "GET", `/api/audit?action=${action}`)).items;

describe("signing in with a provider", () => {
  test("creates an account once, and says in the audit log who came from where", async () => {
    const first = await enter(ann);
    expect(first.user).toMatchObject({ username: "ann", role: "user" });
    const second = await enter({ ...ann, preferred_username: "renamed" });
    expect(second.user.id).toBe(first.user.id);
    expect(await auditOf("user.create")).toContainEqual(
      expect.objectContaining({ subject: "user ann", detail: { role: "user", provider: "good" } }),
    );
    const [last] = await auditOf("auth.login");
    expect(last).toMatchObject({ username: "ann", detail: { provider: "good", login: "renamed" } });
    const identities = await second.browser.request("GET", "/api/auth/identities");
    expect(identities.body).toMatchObject({
      items: [{ provider: "good", title: "good", host: "127.0.0.1", login: "renamed" }],
    });
  });

  test("without newAccounts asks for a user and a password, and refuses an address that is not verified", async () => {
    const account = { sub: "o-1", preferred_username: "olga", email: "olga@example.com", groups: [] };
    const unverified = await enter({ ...account, email_verified: false }, "other");
    expect([unverified.answer.status, faultOf(unverified.answer)]).toEqual([
      403,
      expect.stringContaining("may not come in"),
    ]);
    const known = await enter({ ...account, email_verified: true }, "other");
    expect(known.answer.body).toMatchObject({ user: null, login: "olga", title: "other" });
  });

  test("gives and takes the roles of the provider's groups, and leaves other groups alone", async () => {
    const account = { ...ann, sub: "r-1", preferred_username: "rob" };
    const { user } = await enter({ ...account, groups: ["ACME/web", "acme/ops"] });
    expect([user.role, await permissionOf(user.id)]).toEqual(["admin", "view"]);
    expect((await enter({ ...account, groups: ["acme/web", "acme/leads"] })).user.role).toBe("user");
    expect(await permissionOf(user.id)).toBe("manage");
    const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "By hand" });
    await server.admin.expect(200, "PUT", `/api/groups/${id}/members/${user.id}`, { permission: "view" });
    await enter({ ...account, groups: [] });
    expect(await permissionOf(user.id)).toBeNull();
    const { items } = await server.admin.expect<{ items: object[] }>(200, "GET", `/api/groups/${id}/members`);
    expect(items).toHaveLength(1);
    expect(server.logLines.some((line) => line.includes("groups that do not exist"))).toBe(true);
  });

  test("never takes the rights of the last administrator", async () => {
    const browser = newBrowser(server.url);
    const account = { ...ann, sub: "admin-1", preferred_username: "admin" };
    await browser.finish("good", good.agree(await browser.begin("good"), account));
    const body = { username: "admin", password: adminPassword };
    const linked = await browser.request("POST", "/api/auth/link", body);
    expect(linked.body).toMatchObject({ user: { username: "admin", role: "admin" } });
  });
});

describe("auth.local: admins", () => {
  test("lets administrators in by password, and nobody else; a password still links an account", async () => {
    const id = await newUser("lea");
    const body = { username: "lea", password: userPassword };
    const refused = await server.anonymous.request("POST", "/api/auth/login", body);
    expect([refused.status, faultOf(refused)]).toEqual([403, expect.stringContaining("for administrators")]);
    const wrong = await server.anonymous.request("POST", "/api/auth/login", { ...body, password: "wrong" });
    expect(wrong.status).toBe(401);
    const { browser } = await enter({ ...ann, sub: "l-1", preferred_username: "lea" });
    const linked = await browser.request("POST", "/api/auth/link", body);
    expect(linked.body).toMatchObject({ user: { id } });
    await server.signIn("admin", adminPassword);
  });
});

describe("a session that a provider opened", () => {
  test("goes on while the provider confirms it, with the roles of then", async () => {
    const account = { ...ann, sub: "s-1", preferred_username: "sam" };
    const { browser, user } = await enter(account);
    const before = good.refreshed;
    good.accounts.set("s-1", { ...account, preferred_username: "sam-2", groups: ["acme/leads"] });
    await eventually("the state that the test waits for", () => good.refreshed > before);
    await eventually(
      "the state that the test waits for",
      async () => (await permissionOf(user.id)) === "manage",
    );
    expect(await isIn(browser)).toBe(true);
    const { body } = await browser.request("GET", "/api/auth/identities");
    expect(body).toMatchObject({ items: [{ login: "sam-2" }] });
  });

  test("ends when the provider refuses, and stays while the provider is away", async () => {
    const stays = await enter({ ...ann, sub: "t-1", preferred_username: "tom" });
    const goes = await enter({ ...ann, sub: "t-2", preferred_username: "tea" });
    good.brokenStatus = 503;
    await eventually("the state that the test waits for", () =>
      server.logLines.some((line) => line.includes("could not be asked about a session")),
    );
    good.brokenStatus = null;
    expect([await isIn(stays.browser), await isIn(goes.browser)]).toEqual([true, true]);
    const third = await enter({ ...ann, sub: "t-3", preferred_username: "tim" });
    good.removed.add("t-3");
    await eventually("the state that the test waits for", async () => !(await isIn(third.browser)));
    const [ended] = await auditOf("auth.end-session");
    expect(ended).toMatchObject({ username: "tim", detail: { reason: expect.stringContaining("revoked") } });
  });

  test("takes the roles that the provider gave with it, so that a password does not bring them back", async () => {
    const id = await newUser("pam");
    const account = { ...ann, sub: "p-1", preferred_username: "pam", groups: ["acme/ops", "acme/web"] };
    const { browser } = await enter(account);
    const body = { username: "pam", password: userPassword };
    const linked = await browser.request("POST", "/api/auth/link", body);
    expect(linked.body).toMatchObject({ user: { id, role: "admin" } });
    const again = await enter(account);
    await server.signIn("pam", userPassword);
    good.removed.add("p-1");
    await eventually("the session ends", async () => !(await isIn(again.browser)));
    expect([await roleOf(id), await permissionOf(id)]).toEqual(["user", null]);
    expect((await server.anonymous.request("POST", "/api/auth/login", body)).status).toBe(403);
    expect(await auditOf("user.update")).toContainEqual(
      expect.objectContaining({ subject: "user pam", detail: { role: "user", by: "provider" } }),
    );
  });

  test("takes no roles while another session of the account can be asked about", async () => {
    const account = { ...ann, sub: "q-1", preferred_username: "quin", groups: ["acme/ops"] };
    const [one, two] = [await enter({ ...account, sid: "q-a" }), await enter({ ...account, sid: "q-b" })];
    good.removed.add("q-a");
    await eventually("the session ends", async () => !(await isIn(one.browser)));
    expect([await isIn(two.browser), await roleOf(two.user.id)]).toEqual([true, "admin"]);
    expect(await auditOf("user.update")).not.toContainEqual(
      expect.objectContaining({ subject: "user quin", detail: { role: "user", by: "provider" } }),
    );
  });

  test("ends with all others of the account when its owner may no longer come in", async () => {
    const id = await newUser("vera");
    const account = {
      sub: "v-1",
      preferred_username: "vera",
      email: "vera@example.com",
      email_verified: true,
    };
    const inside = { ...account, groups: ["acme/ops"] };
    const { browser } = await enter(inside, "other");
    const body = { username: "vera", password: userPassword };
    expect((await browser.request("POST", "/api/auth/link", body)).status).toBe(200);
    const again = await enter(inside, "other");
    expect(again.user).toMatchObject({ id, role: "admin" });
    other.accounts.set("v-1", { ...inside, email: "vera@example.org" });
    await eventually("the session ends", async () => !(await isIn(again.browser)));
    expect([await isIn(browser), await roleOf(id)]).toEqual([false, "user"]);
  });

  test("ends when the provider forbids to read the account, and stays while it limits the requests", async () => {
    const { browser } = await enter({ ...ann, sub: "w-1", preferred_username: "wes" });
    const asked = () => server.logLines.filter((line) => line.includes("could not be asked about")).length;
    const before = asked();
    good.userInfo = () => new Response("wait", { status: 403, headers: { "x-ratelimit-remaining": "0" } });
    await eventually("the provider is asked", () => asked() > before);
    expect(await isIn(browser)).toBe(true);
    good.userInfo = () => new Response("suspended", { status: 403 });
    const second = await enter({ ...ann, sub: "w-2", preferred_username: "will" });
    expect([second.answer.status, faultOf(second.answer)]).toEqual([403, expect.stringContaining("403")]);
    good.userInfo = null;
    const third = await enter({ ...ann, sub: "w-3", preferred_username: "wilma" });
    good.userInfo = () => new Response("suspended", { status: 403 });
    await eventually("the session ends", async () => !(await isIn(third.browser)));
  });

  test("ends with the user, with the link, and at a logout here", async () => {
    const account = { ...ann, sub: "u-1", preferred_username: "uma" };
    const [one, two] = [await enter(account), await enter(account)];
    expect((await one.browser.request("POST", "/api/auth/logout")).status).toBe(204);
    expect([await isIn(one.browser), await isIn(two.browser)]).toEqual([false, true]);
    const { body } = await two.browser.request("GET", "/api/auth/identities");
    const [{ id } = { id: 0 }] = (body as { items: { id: number }[] }).items;
    expect((await one.browser.request("DELETE", `/api/auth/identities/${id}`)).status).toBe(401);
    const stranger = await enter({ ...ann, sub: "u-2", preferred_username: "una" });
    expect((await stranger.browser.request("DELETE", `/api/auth/identities/${id}`)).status).toBe(404);
    expect((await two.browser.request("DELETE", `/api/auth/identities/${id}`)).status).toBe(204);
    expect(await isIn(two.browser)).toBe(false);
    await server.admin.expect(204, "DELETE", `/api/users/${stranger.user.id}`);
    expect(await isIn(stranger.browser)).toBe(false);
  });
});

describe("what goes wrong is said in words", () => {
  const problem = async (account: TestAccount = ann) => {
    const { answer } = await enter(account);
    return [answer.status, faultOf(answer)] as const;
  };

  test("a clock that is wrong, with the difference", async () => {
    good.aheadMs = -3_600_000;
    const [status, text] = await problem();
    expect([status, text]).toEqual([409, expect.stringMatching(/clocks .* differ by (3599|3600|3601) s/)]);
  });

  test("a provider that is away; administrators still get in", async () => {
    const browser = newBrowser(server.url);
    const query = good.agree(await browser.begin("good"), ann);
    good.brokenStatus = 502;
    const answer = await browser.finish("good", query);
    expect([answer.status, faultOf(answer)]).toEqual([503, expect.stringContaining("good does not answer")]);
    expect(faultOf(answer)).toContain("administrators can sign in with their password");
    await server.signIn("admin", adminPassword);
  });

  test("what the provider sends back in place of a code", async () => {
    const cases: [string, number, string][] = [
      ["access_denied", 403, "access was denied"],
      ["redirect_uri_mismatch", 409, `does not know the redirect address ${server.url}/sign-in/good`],
      ["unauthorized_client", 409, "clientId or the clientSecret"],
      ["temporarily_unavailable", 409, "refused the sign-in: temporarily_unavailable"],
    ];
    for (const [error, status, text] of cases) {
      const browser = newBrowser(server.url);
      const { searchParams } = new URL(await browser.begin("good"));
      const query = new URLSearchParams({ error, state: searchParams.get("state") ?? "", iss: good.url });
      const answer = await browser.finish("good", query.toString());
      expect([answer.status, faultOf(answer)]).toEqual([status, expect.stringContaining(text)]);
    }
  });

  test("groups that the provider does not send", async () => {
    const { groups: _, ...untold } = ann;
    const [status, text] = await problem(untold);
    expect([status, text]).toEqual([403, expect.stringContaining("Let it send the claim groups")]);
  });

  test("a provider that nobody knows", async () => {
    const answer = await newBrowser(server.url).request("POST", "/api/auth/providers/nobody/begin", {
      returnTo: "/",
    });
    expect([answer.status, faultOf(answer)]).toEqual([404, "There is no sign-in provider nobody."]);
  });
});
