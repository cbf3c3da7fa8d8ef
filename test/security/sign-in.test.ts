import { beforeEach, describe, expect, test } from "bun:test";
import { userPassword } from "../support/api-server.ts";
import type { TestAccount } from "../support/openid-provider.ts";
import { newBrowser, type TestBrowser } from "../support/sign-in-browser.ts";
import { setUpProviders } from "../support/sign-in-scene.ts";

const { server, good, other } = await setUpProviders({
  good: { newAccounts: true },
  other: { newAccounts: true, organisations: ["acme"], roles: [{ group: "acme/ops", admin: true }] },
});

const ann: TestAccount = {
  sub: "a-1",
  preferred_username: "ann",
  email: "ann@example.com",
  email_verified: true,
};

const faultOf = ({ body }: { body: unknown }) =>
  (body as { error: { message: string } } | null)?.error?.message ?? "";
const userOf = ({ body }: { body: unknown }) => (body as { user: { username: string } | null }).user;

beforeEach(() => {
  for (const provider of [good, other]) {
    provider.tamper = (claims) => claims;
    provider.signsWrongly = false;
    provider.acceptsUsedCodes = false;
    provider.aheadMs = 0;
    provider.brokenStatus = null;
  }
});

/** Whether the browser is signed in. */
async function isIn(browser: TestBrowser): Promise<boolean> {
  return (await browser.request("GET", "/api/auth/me")).status === 200;
}

async function refusal(browser: TestBrowser, name: string, query: string, status = 401): Promise<string> {
  const answer = await browser.finish(name, query);
  expect([answer.status, faultOf(answer) !== ""]).toEqual([status, true]);
  expect([browser.cookies.has("slipway_session"), await isIn(browser)]).toEqual([false, false]);
  return faultOf(answer);
}

describe("the answer of a provider", () => {
  test("opens a session once, in the browser that began", async () => {
    const browser = newBrowser(server.url);
    const query = good.agree(await browser.begin("good"), ann);
    expect(await refusal(newBrowser(server.url), "good", query)).toContain("in another browser");
    const entered = await browser.finish("good", query);
    expect([entered.status, userOf(entered)?.username, await isIn(browser)]).toEqual([200, "ann", true]);
  });

  test("with the state of another sign-in is refused", async () => {
    const [attacker, victim] = [newBrowser(server.url), newBrowser(server.url)];
    const stolen = good.agree(await attacker.begin("good"), ann);
    await victim.begin("good");
    expect(await refusal(victim, "good", stolen)).toContain("in another browser");
  });

  test("with a state that was swapped for the victim's is refused: the code belongs to another challenge", async () => {
    const [attacker, victim] = [newBrowser(server.url), newBrowser(server.url)];
    const stolen = new URLSearchParams(good.agree(await attacker.begin("good"), ann));
    const address = await victim.begin("good");
    stolen.set("state", new URL(address).searchParams.get("state") ?? "");
    await refusal(victim, "good", stolen.toString());
  });

  test("with another nonce, or none, is refused", async () => {
    for (const nonce of ["another", undefined]) {
      const browser = newBrowser(server.url);
      good.tamper = ({ nonce: _, ...claims }) => ({ ...claims, ...(nonce ? { nonce } : {}) });
      await refusal(browser, "good", good.agree(await browser.begin("good"), ann));
    }
  });

  test("is refused the second time, also with the cookies of before and a provider that takes codes again", async () => {
    good.acceptsUsedCodes = true;
    const browser = newBrowser(server.url);
    const query = good.agree(await browser.begin("good"), ann);
    const replayed = newBrowser(server.url);
    for (const [name, value] of browser.cookies) replayed.cookies.set(name, value);
    expect((await browser.finish("good", query)).status).toBe(200);
    expect(await refusal(replayed, "good", query)).toContain("was used already");
    // The browser has no cookie of it any more.
    browser.cookies.delete("slipway_session");
    await refusal(browser, "good", query);
  });

  test("of another audience, of another issuer and with a wrong signature is refused", async () => {
    const changes: Record<string, unknown>[] = [{ aud: "another client" }, { iss: other.url }];
    for (const change of changes) {
      const browser = newBrowser(server.url);
      good.tamper = (claims) => ({ ...claims, ...change });
      await refusal(browser, "good", good.agree(await browser.begin("good"), ann));
    }
    good.tamper = (claims) => claims;
    good.signsWrongly = true;
    const browser = newBrowser(server.url);
    await refusal(browser, "good", good.agree(await browser.begin("good"), ann));
  });

  test("of one provider is not taken for that of another", async () => {
    const browser = newBrowser(server.url);
    const fromOther = other.agree(await browser.begin("other"), { ...ann, groups: ["acme"] });
    // The other's answer at the address of this one, and this one's name in the other's answer.
    expect(await refusal(browser, "good", fromOther)).toContain("Begin again");
    await browser.begin("good");
    await refusal(browser, "good", fromOther);
    const mixed = newBrowser(server.url);
    const query = new URLSearchParams(good.agree(await mixed.begin("good"), ann));
    query.set("iss", other.url);
    await refusal(mixed, "good", query.toString());
  });

  test("needs the console's header, and a request of this site", async () => {
    const browser = newBrowser(server.url);
    const query = good.agree(await browser.begin("good"), ann);
    const path = "/api/auth/providers/good/finish";
    const foreign = await browser.request("POST", path, { query }, { "sec-fetch-site": "cross-site" });
    expect([foreign.status, faultOf(foreign)]).toEqual([403, expect.stringContaining("another site")]);
    const bare = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query }),
    });
    expect(bare.status).toBe(403);
  });

  test("gives a session of its own, whatever the browser had", async () => {
    const browser = newBrowser(server.url);
    browser.cookies.set("slipway_session", `sls_${"f".repeat(43)}`);
    const address = await browser.begin("good");
    expect((await browser.finish("good", good.agree(address, ann))).status).toBe(200);
    const first = browser.cookies.get("slipway_session");
    expect(first).not.toBe(`sls_${"f".repeat(43)}`);
    expect((await browser.finish("good", good.agree(await browser.begin("good"), ann))).status).toBe(200);
    expect(browser.cookies.get("slipway_session")).not.toBe(first);
  });

  test("is limited per address", async () => {
    const browser = newBrowser(server.url);
    const statuses: number[] = [];
    for (let each = 0; each < 21; each++)
      statuses.push((await browser.finish("good", "code=x&state=y")).status);
    expect(statuses).toContain(429);
    expect(statuses.at(-1)).toBe(429);
  });
});

describe("the way back to the console", () => {
  test.each([
    "//evil.example.com",
    "/\\evil.example.com",
    "https://evil.example.com",
    "javascript:alert(1)",
    "/a\\b",
    " /",
  ])("%s is refused", async (returnTo) => {
    const answer = await newBrowser(server.url).request("POST", "/api/auth/providers/good/begin", {
      returnTo,
    });
    expect([answer.status, faultOf(answer)]).toEqual([422, expect.stringContaining("path of the console")]);
  });

  test("is the path that the browser began with, and the provider gets only the configured address", async () => {
    const browser = newBrowser(server.url);
    const address = await browser.begin("good", { returnTo: "/projects?page=2" });
    expect(new URL(address).searchParams.get("redirect_uri")).toBe(`${server.url}/sign-in/good`);
    const entered = await browser.finish("good", good.agree(address, ann));
    expect(entered.body).toMatchObject({ returnTo: "/projects?page=2" });
    const elsewhere = { origin: "https://console.example.com" };
    const refused = await browser.request(
      "POST",
      "/api/auth/providers/good/begin",
      { returnTo: "/" },
      elsewhere,
    );
    expect(refused.status).toBe(403);
    // The console at another name of this server: its cookie would not come back.
    const named = { origin: "http://localhost:1", "sec-fetch-site": "same-origin" };
    const atOther = await browser.request("POST", "/api/auth/providers/good/begin", { returnTo: "/" }, named);
    expect([atOther.status, faultOf(atOther)]).toEqual([
      409,
      expect.stringContaining(`Open the console at ${server.url}`),
    ]);
  });
});

describe("a person", () => {
  test("who claims the e-mail address or the name of another subject gets another user, or none", async () => {
    const first = newBrowser(server.url);
    await first.finish(
      "good",
      good.agree(await first.begin("good"), { ...ann, sub: "b-1", preferred_username: "bea" }),
    );
    const claimant = newBrowser(server.url);
    const taken = { ...ann, sub: "b-2", preferred_username: "BEA" };
    const answer = await claimant.finish("good", good.agree(await claimant.begin("good"), taken));
    expect(answer.body).toMatchObject({ user: null, login: "BEA" });
    expect(await isIn(claimant)).toBe(false);
    const wrong = await claimant.request("POST", "/api/auth/link", { username: "bea", password: "a guess" });
    expect(wrong.status).toBe(401);
    expect(await isIn(claimant)).toBe(false);
  });

  test("with the subject of another provider is another person", async () => {
    const browser = newBrowser(server.url);
    const account = { ...ann, preferred_username: "cleo", groups: ["acme"] };
    await browser.finish("good", good.agree(await browser.begin("good"), { ...account, sub: "c-1" }));
    const second = newBrowser(server.url);
    const answer = await second.finish(
      "other",
      other.agree(await second.begin("other"), { ...account, sub: "c-1" }),
    );
    expect(userOf(answer)).toBeNull();
  });

  test("whose groups are not told, or are others, does not come in", async () => {
    const browser = newBrowser(server.url);
    const untold = await refusal(browser, "other", other.agree(await browser.begin("other"), ann), 403);
    expect(untold).toContain("did not say which groups");
    for (const groups of [[], ["acme-evil"], ["evil/acme"]]) {
      const query = other.agree(await browser.begin("other"), { ...ann, groups });
      expect(await refusal(browser, "other", query, 403)).toContain("may not come in");
    }
    const inside = other.agree(await browser.begin("other"), {
      ...ann,
      sub: "d",
      preferred_username: "dan",
      groups: ["acme/web"],
    });
    expect(userOf(await browser.finish("other", inside))?.username).toBe("dan");
  });

  test("who is refused loses the sessions and the roles of before", async () => {
    const account = { ...ann, sub: "k-1", preferred_username: "kim" };
    const browser = newBrowser(server.url);
    const inside = { ...account, groups: ["acme", "acme/ops"] };
    const entered = await browser.finish("other", other.agree(await browser.begin("other"), inside));
    const { id, role } = (entered.body as { user: { id: number; role: string } }).user;
    expect(role).toBe("admin");
    const later = newBrowser(server.url);
    await refusal(later, "other", other.agree(await later.begin("other"), { ...account, groups: [] }), 403);
    expect(await isIn(browser)).toBe(false);
    expect(await server.admin.expect<object>(200, "GET", `/api/users/${id}`)).toMatchObject({ role: "user" });
  });

  test("who is disabled here does not come in", async () => {
    const account = { ...ann, sub: "e-1", preferred_username: "eve" };
    const browser = newBrowser(server.url);
    const entered = await browser.finish("good", good.agree(await browser.begin("good"), account));
    const { id } = (entered.body as { user: { id: number } }).user;
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, { disabled: true });
    expect(await isIn(browser)).toBe(false);
    browser.cookies.clear();
    const query = good.agree(await browser.begin("good"), account);
    expect(await refusal(browser, "good", query, 403)).toContain("disabled");
  });
});

describe("a logout token", () => {
  let sent = 0;
  const send = (token: string, name = "good") =>
    fetch(`${server.url}/api/auth/providers/${name}/logout`, {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "x-forwarded-for": `10.2.0.${++sent}`,
      },
      body: new URLSearchParams({ logout_token: token }),
    });
  const enter = async (account: TestAccount) => {
    const browser = newBrowser(server.url);
    await browser.finish("good", good.agree(await browser.begin("good"), account));
    return browser;
  };

  test("ends the session that it names, or all of the account", async () => {
    const account = { ...ann, sub: "h-1", preferred_username: "hal" };
    const [one, two] = [await enter({ ...account, sid: "s-1" }), await enter({ ...account, sid: "s-2" })];
    expect((await send(await good.logoutToken({ sub: "h-1", sid: "s-1" }))).status).toBe(204);
    expect([await isIn(one), await isIn(two)]).toEqual([false, true]);
    expect((await send(await good.logoutToken({ sub: "h-1" }))).status).toBe(204);
    expect(await isIn(two)).toBe(false);
  });

  test("ends the session that linking has opened", async () => {
    await server.newUser("jo");
    const browser = await enter({ ...ann, sub: "j-1", preferred_username: "jo", sid: "s-3" });
    const body = { username: "jo", password: userPassword };
    expect((await browser.request("POST", "/api/auth/link", body)).status).toBe(200);
    expect((await send(await good.logoutToken({ sid: "s-3" }))).status).toBe(204);
    expect(await isIn(browser)).toBe(false);
  });

  test("that is not one ends nothing", async () => {
    const browser = await enter({ ...ann, sub: "i-1", preferred_username: "ida" });
    const sub = "i-1";
    const old = Math.floor(Date.now() / 1000) - 3600;
    const tokens = [
      "nonsense",
      await good.logoutToken({ sub, aud: "another" }),
      await good.logoutToken({ sub, iss: other.url }),
      await good.logoutToken({ sub, nonce: "n" }),
      await good.logoutToken({ sub, events: {} }),
      await good.logoutToken({ sub, iat: old }),
      await good.logoutToken({}),
      await other.logoutToken({ sub }),
    ];
    for (const token of tokens) expect((await send(token)).status).toBe(400);
    good.signsWrongly = true;
    expect((await send(await good.logoutToken({ sub }))).status).toBe(400);
    expect((await send("x", "nobody")).status).toBe(404);
    expect(await isIn(browser)).toBe(true);
  });
});
