import { describe, expect, test } from "bun:test";
import { adminPassword, userPassword } from "../support/api-server.ts";
import type { TestAccount } from "../support/openid-provider.ts";
import { newBrowser, type TestBrowser } from "../support/sign-in-browser.ts";
import { setUpProviders } from "../support/sign-in-scene.ts";

const { server, good } = await setUpProviders({ good: { newAccounts: true }, other: {} });

const ann: TestAccount = {
  sub: "a-1",
  preferred_username: "ann",
  email: "ann@example.com",
  email_verified: true,
};

/** Whether the browser is signed in. */
async function isIn(browser: TestBrowser): Promise<boolean> {
  return (await browser.request("GET", "/api/auth/me")).status === 200;
}

describe("linking", () => {
  test("to a user needs the password of that user once", async () => {
    const { id } = await server.newUser("fay");
    const account = { ...ann, sub: "f-1", preferred_username: "fay" };
    const browser = newBrowser(server.url);
    const first = await browser.finish("good", good.agree(await browser.begin("good"), account));
    expect(first.body).toMatchObject({ user: null, login: "fay", title: "good" });
    const linked = await browser.request("POST", "/api/auth/link", {
      username: "fay",
      password: userPassword,
    });
    expect([linked.status, linked.body]).toEqual([
      200,
      expect.objectContaining({ user: expect.objectContaining({ id }) }),
    ]);
    expect(await isIn(browser)).toBe(true);
    const again = newBrowser(server.url);
    const second = await again.finish("good", good.agree(await again.begin("good"), account));
    expect(second.body).toMatchObject({ user: { id } });
  });

  test("is not possible without an account that waits, nor with a cookie of another step", async () => {
    const browser = newBrowser(server.url);
    const body = { username: "admin", password: adminPassword };
    expect((await browser.request("POST", "/api/auth/link", body)).status).toBe(401);
    await browser.begin("good");
    browser.cookies.set("slipway_link", browser.cookies.get("slipway_sign_in") ?? "");
    expect((await browser.request("POST", "/api/auth/link", body)).status).toBe(401);
    browser.cookies.set("slipway_link", "v1.AAAA");
    expect((await browser.request("POST", "/api/auth/link", body)).status).toBe(401);
    expect(await isIn(browser)).toBe(false);
  });

  test("asked for by a signed-in person goes by the password too", async () => {
    const browser = newBrowser(server.url);
    const account = { ...ann, sub: "g-1", preferred_username: "gus" };
    const address = await browser.begin("good", { link: true });
    const answer = await browser.finish("good", good.agree(address, account));
    expect(answer.body).toMatchObject({ user: null, login: "gus" });
  });
});

describe("an account that a thief of the password has linked", () => {
  async function linked(username: string, sub: string, password = userPassword): Promise<TestBrowser> {
    const browser = newBrowser(server.url);
    const account = { ...ann, sub, preferred_username: username };
    await browser.finish("good", good.agree(await browser.begin("good"), account));
    expect((await browser.request("POST", "/api/auth/link", { username, password })).status).toBe(200);
    return browser;
  }
  const linksOf = async (id: number) => {
    const path = `/api/users/${id}/identities`;
    return (await server.admin.expect<{ items: { id: number; login: string }[] }>(200, "GET", path)).items;
  };

  test("is unlinked by a new password, except that of the session that asks", async () => {
    const { id } = await server.newUser("nia");
    const [own, thief] = [await linked("nia", "n-1"), await linked("nia", "n-2")];
    const change = { oldPassword: userPassword, newPassword: "another good password" };
    expect((await own.request("POST", "/api/auth/password", change)).status).toBe(204);
    expect([await isIn(own), await isIn(thief), (await linksOf(id)).length]).toEqual([true, false, 1]);
    const account = { ...ann, sub: "n-2", preferred_username: "nia" };
    const again = await thief.finish("good", good.agree(await thief.begin("good"), account));
    expect(again.body).toMatchObject({ user: null });
    const kept = { password: "a third good password", keepTokens: true };
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, kept);
    expect(await linksOf(id)).toHaveLength(1);
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, { password: "a fourth good password" });
    expect(await linksOf(id)).toEqual([]);
  });

  test("is unlinked by an administrator, and no other of another user is", async () => {
    const { id } = await server.newUser("ole");
    const { id: otherId } = await server.newUser("pia");
    const thief = await linked("ole", "o-1");
    const [link] = await linksOf(id);
    expect(link).toMatchObject({ provider: "good", title: "good", login: "ole" });
    await server.admin.expect(404, "DELETE", `/api/users/${otherId}/identities/${link?.id}`);
    expect(await isIn(thief)).toBe(true);
    await server.admin.expect(204, "DELETE", `/api/users/${id}/identities/${link?.id}`);
    expect([await isIn(thief), await linksOf(id)]).toEqual([false, []]);
    const { items } = await server.admin.expect<{ items: object[] }>(200, "GET", "/api/audit");
    expect(items).toContainEqual(
      expect.objectContaining({
        ...{ action: "user.unlink", username: "admin", subject: "user ole" },
        detail: { provider: "good", login: "ole" },
      }),
    );
  });
});

describe("over https, a cookie that a page at another name of the domain can set", () => {
  const https = { "x-forwarded-proto": "https" };

  async function begun(sub: string, link = false) {
    const browser = newBrowser(server.url);
    const path = "/api/auth/providers/good";
    const answer = await browser.request("POST", `${path}/begin`, { returnTo: "/", link }, https);
    const query = good.agree((answer.body as { address: string }).address, {
      ...ann,
      sub,
      preferred_username: sub,
    });
    return { browser, answer, finish: () => browser.request("POST", `${path}/finish`, { query }, https) };
  }

  /** Puts the value of a cookie under the name that needs no host. */
  function plant({ cookies }: TestBrowser, name: string): void {
    const value = cookies.get(`__Host-${name}`) ?? "";
    expect(value).not.toBe("");
    cookies.delete(`__Host-${name}`);
    cookies.set(name, value);
  }

  test("begins no sign-in", async () => {
    const { browser, answer, finish } = await begun("m-1");
    expect(answer.headers.get("set-cookie")).toMatch(
      /^__Host-slipway_sign_in=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=600; Secure$/,
    );
    expect((await finish()).status).toBe(200);
    expect(browser.cookies.has("__Host-slipway_session")).toBe(true);
    expect(await isIn(browser)).toBe(true);
    const second = await begun("m-1");
    plant(second.browser, "slipway_sign_in");
    expect((await second.finish()).status).toBe(401);
  });

  test("links no account", async () => {
    await server.newUser("mia");
    const { browser, finish } = await begun("m-2", true);
    expect((await finish()).body).toMatchObject({ user: null });
    const body = { username: "mia", password: userPassword };
    plant(browser, "slipway_link");
    expect((await browser.request("POST", "/api/auth/link", body, https)).status).toBe(401);
  });
});
