import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { type ApiServer, adminPassword, startApiServer, userPassword } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { availableDatabases } from "../support/databases.ts";

/** Databases that several instances can share. */
const sharedDatabases = (await availableDatabases()).filter(({ name }) => name === "PostgreSQL");
const clock = manualClock();

const server = await setUpApi({}, clock);

const codeOf = (body: unknown) => (body as { error: { code: string } }).error.code;

describe("sign-in", () => {
  test("answers token, expiresAt and user", async () => {
    const body = { username: "admin", password: adminPassword };
    const answer = await server.anonymous.expect(200, "POST", "/api/auth/login", body);
    expect(answer).toMatchObject({
      token: expect.stringMatching(/^sls_[\w-]{43}$/),
      expiresAt: new Date(clock.now() + 12 * 3_600_000).toISOString(),
      user: { id: 1, username: "admin", role: "admin", disabled: false },
    });
  });

  test("accepts the username in any case, and the audit log contains the stored spelling", async () => {
    await server.anonymous.expect(200, "POST", "/api/auth/login", {
      username: "ADMIN",
      password: adminPassword,
    });
    const list = await server.admin.expect<{ items: unknown[] }>(200, "GET", "/api/audit?action=auth.login");
    expect(list.items[0]).toMatchObject({ username: "admin", subject: "user admin" });
  });

  test("gives the same response for a wrong password and an unknown user", async () => {
    const tries = [
      { username: "admin", password: "wrong" },
      { username: "nobody", password: "wrong" },
    ];
    const answers = await Promise.all(
      tries.map((body) => server.anonymous.request("POST", "/api/auth/login", body)),
    );
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
    expect(answers[0]?.text).toBe(answers[1]?.text as string);
  });

  test("names unknown fields with the probable field, and refuses a body that is not JSON", async () => {
    const wrong = await server.anonymous.request("POST", "/api/auth/login", { user: "a", pasword: "b" });
    expect(wrong.status).toBe(422);
    expect((wrong.body as { error: { fields: unknown[] } }).error.fields).toContainEqual({
      field: "pasword",
      message: "is no field here; did you mean password?",
      messageParts: [{ code: "field_meant", values: { meant: "password" } }],
    });
    expect((await server.anonymous.request("POST", "/api/auth/login", "{")).status).toBe(400);
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await server.anonymous.request("POST", "/api/auth/login", "a=b", form)).status).toBe(415);
  });

  test("ends after auth.sessionHours and disappears from the list of sessions", async () => {
    const ownClock = manualClock();
    const own = await startApiServer({ "auth.sessionHours": 2 }, ownClock);
    ownClock.advance(2 * 3_600_000 - 1);
    expect((await own.admin.request("GET", "/api/auth/me")).status).toBe(200);
    const later = await own.signIn("admin", adminPassword);
    const listed = async () =>
      (await later.expect<{ items: unknown[] }>(200, "GET", "/api/auth/sessions")).items.length;
    expect(await listed()).toBe(2);
    ownClock.advance(1);
    expect((await own.admin.request("GET", "/api/auth/me")).status).toBe(401);
    expect(await listed()).toBe(1);
    await own.stop();
  });

  const attemptAt = (at: ApiServer) => (address: string, password: string, username: string) =>
    at.anonymous.request("POST", "/api/auth/login", { username, password }, { "x-forwarded-for": address });
  const behindProxy = { "server.trustedProxies": ["127.0.0.0/8"] };

  test("is limited per address, with Retry-After; a successful sign-in neither counts nor resets the count", async () => {
    const limited = await startApiServer(behindProxy, clock);
    const attempt = attemptAt(limited);
    for (let n = 0; n < 19; n++) expect((await attempt("203.0.113.1", "wrong", `user${n}`)).status).toBe(401);
    for (let n = 0; n < 3; n++)
      expect((await attempt("203.0.113.1", adminPassword, "admin")).status).toBe(200);
    expect((await attempt("203.0.113.1", "wrong", "user19")).status).toBe(401);
    const refused = await attempt("203.0.113.1", adminPassword, "admin");
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await attempt("203.0.113.2", adminPassword, "admin")).status).toBe(200);
    await limited.stop();
  });

  test("is limited per username, and a successful sign-in of the user resets the count", async () => {
    const limited = await startApiServer(behindProxy, clock);
    const attempt = attemptAt(limited);
    const guess = async (n: number) => (await attempt(`203.0.113.${n}`, "wrong", "Admin")).status;
    for (let n = 0; n < 49; n++) expect(await guess(n)).toBe(401);
    expect((await attempt("203.0.113.200", adminPassword, "ADMIN")).status).toBe(200);
    for (let n = 50; n < 100; n++) expect(await guess(n)).toBe(401);
    expect(await guess(100)).toBe(429);
    await limited.stop();
  });

  test.each(sharedDatabases)("is limited over all instances on $name together", async ({ make }) => {
    const database = await make();
    const shared = {
      ...behindProxy,
      "database.url": database.url,
      "data.encryptionKey": Buffer.alloc(32, 7).toString("base64"),
    };
    const instances = [await startApiServer(shared, clock), await startApiServer(shared, clock)];
    const attempt = (n: number, address: string, password = "wrong", username = `user${n}`) =>
      attemptAt(instances[n % 2] as ApiServer)(address, password, username);
    for (let n = 0; n < 20; n++) expect((await attempt(n, "203.0.113.1")).status).toBe(401);
    for (const n of [20, 21]) {
      const refused = await attempt(n, "203.0.113.1");
      expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([429, 300]);
    }
    for (const n of [0, 1])
      expect((await attempt(n, "203.0.113.9", adminPassword, "admin")).status).toBe(200);
    clock.advance(300_000);
    expect((await attempt(0, "203.0.113.1")).status).toBe(401);
    for (const instance of instances) await instance.stop();
    await database.remove();
  });
});

describe("a session", () => {
  test("ends at sign-out", async () => {
    const client = await server.signIn("admin", adminPassword);
    await client.expect(204, "POST", "/api/auth/logout");
    expect((await client.request("GET", "/api/auth/me")).status).toBe(401);
  });

  test("can be listed and ended by its user, but not by another", async () => {
    const { client } = await server.newUser("lister");
    const other = await server.signIn("lister", userPassword);
    const list = await client.expect<{ items: { id: number; current: boolean }[] }>(
      200,
      "GET",
      "/api/auth/sessions",
    );
    expect(list.items.map(({ current }) => current).sort()).toEqual([false, true]);
    const foreign = list.items.find(({ current }) => !current);
    expect((await server.admin.request("DELETE", `/api/auth/sessions/${foreign?.id}`)).status).toBe(404);
    await client.expect(204, "DELETE", `/api/auth/sessions/${foreign?.id}`);
    expect((await other.request("GET", "/api/auth/me")).status).toBe(401);
  });

  test("of a disabled user loses access immediately, and so does its token", async () => {
    const { id, client } = await server.newUser("leaver");
    const { token } = await client.expect<{ token: string }>(201, "POST", "/api/tokens", { name: "ci" });
    expect((await server.as(token).request("GET", "/api/auth/me")).status).toBe(200);
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, { disabled: true });
    expect((await client.request("GET", "/api/auth/me")).status).toBe(401);
    expect((await server.as(token).request("GET", "/api/auth/me")).status).toBe(401);
    const again = { username: "leaver", password: userPassword };
    expect((await server.anonymous.request("POST", "/api/auth/login", again)).status).toBe(401);
  });
});

describe("users", () => {
  test("refuse thousands of unknown fields with a short answer", async () => {
    const fields = Array.from({ length: 5_000 }, (_, index) => [`${"x".repeat(300)}${index}`, 1]);
    const wrong = await server.admin.request("POST", "/api/users", Object.fromEntries(fields));
    expect(wrong.status).toBe(422);
    expect(wrong.text.length).toBeLessThan(50_000);
  });

  test("are unique by name whatever the case, and checked", async () => {
    await server.newUser("twin");
    const twin = await server.admin.request("POST", "/api/users", {
      username: "TWIN",
      password: userPassword,
    });
    expect([twin.status, codeOf(twin.body)]).toEqual([409, "conflict"]);
    const bad = await server.admin.request("POST", "/api/users", { username: "a b", password: "short" });
    expect(
      (bad.body as { error: { fields: { field: string }[] } }).error.fields.map(({ field }) => field),
    ).toEqual(["username", "password"]);
  });

  test("are found by their exact name, by those who manage a project or a group", async () => {
    const { id } = await server.newUser("findable");
    const { id: finder, client } = await server.newUser("finder");
    for (const name of ["findable", "nobody"])
      expect((await client.request("GET", `/api/users/by-name/${name}`)).status).toBe(403);
    const group = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "finders" });
    await server.admin.expect(200, "PUT", `/api/groups/${group.id}/members/${finder}`, {
      permission: "manage",
    });
    const found = await client.expect(200, "GET", "/api/users/by-name/FINDABLE");
    expect(found).toEqual({ id, username: "findable" });
    expect((await client.request("GET", "/api/users/by-name/find")).status).toBe(404);
  });

  test("include at least one administrator, always", async () => {
    for (const change of [{ disabled: true }, { role: "user" }])
      expect((await server.admin.request("PATCH", "/api/users/1", change)).status).toBe(409);
    expect((await server.admin.request("DELETE", "/api/users/1")).status).toBe(409);
    const { id } = await server.newUser("second", "admin");
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, { role: "user" });
    await server.admin.expect(204, "DELETE", `/api/users/${id}`);
    expect((await server.admin.request("GET", `/api/users/${id}`)).status).toBe(404);
  });
});

describe("an API token", () => {
  test("is shown once, works until revoked, and is never in a list", async () => {
    const made = await server.admin.expect<{ token: string; id: number; hint: string }>(
      201,
      "POST",
      "/api/tokens",
      {
        name: "ci",
        scopes: ["read"],
      },
    );
    expect(made.token).toMatch(/^slp_/);
    expect(made.token).toStartWith(made.hint);
    const list = await server.admin.request("GET", "/api/tokens");
    expect(list.text).not.toContain(made.token);
    const client = server.as(made.token);
    expect((await client.request("GET", "/api/projects")).status).toBe(200);
    expect((await client.request("POST", "/api/tokens", { name: "more" })).status).toBe(403);
    await server.admin.expect(204, "DELETE", `/api/tokens/${made.id}`);
    expect((await client.request("GET", "/api/projects")).status).toBe(401);
  });

  test("ends at its expiresAt", async () => {
    const expiresAt = new Date(clock.now() + 60_000).toISOString();
    const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
      name: "x",
      expiresAt,
    });
    expect((await server.as(token).request("GET", "/api/auth/me")).status).toBe(200);
    clock.advance(60_000);
    expect((await server.as(token).request("GET", "/api/auth/me")).status).toBe(401);
    const past = { name: "x", expiresAt: new Date(clock.now()).toISOString() };
    expect((await server.admin.request("POST", "/api/tokens", past)).status).toBe(422);
  });

  test("of another user can be neither seen nor revoked", async () => {
    const { client } = await server.newUser("owner");
    const { id } = await client.expect<{ id: number }>(201, "POST", "/api/tokens", { name: "mine" });
    const { client: stranger } = await server.newUser("stranger");
    expect((await stranger.request("DELETE", `/api/tokens/${id}`)).status).toBe(404);
    expect((await stranger.request("GET", "/api/tokens?userId=1")).status).toBe(403);
    expect(await stranger.expect(200, "GET", "/api/tokens")).toMatchObject({ total: 0 });
  });
});

describe("the console's cookie", () => {
  const login = { username: "admin", password: adminPassword, cookie: true };
  const csrf = { "x-slipway-csrf": "1" };
  const cookieOf = (headers: Headers) => headers.get("set-cookie") ?? "";

  test("is httpOnly and SameSite=Lax, and the token is not in the answer", async () => {
    const answer = await server.anonymous.request("POST", "/api/auth/login", login, csrf);
    expect(answer.status).toBe(200);
    expect((answer.body as { token: unknown }).token).toBeNull();
    expect(cookieOf(answer.headers)).toMatch(
      /^slipway_session=sls_[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Expires=/,
    );
    expect(cookieOf(answer.headers)).not.toContain("Secure");
    expect((await server.anonymous.request("POST", "/api/auth/login", login)).status).toBe(403);
  });

  test("allows reads without our header, and changes only with it and from our own site", async () => {
    const signedIn = await server.anonymous.request("POST", "/api/auth/login", login, csrf);
    const cookie = { cookie: `other=1; ${cookieOf(signedIn.headers).split(";")[0]}` };
    const change = async (headers: Record<string, string>) =>
      (await server.anonymous.request("POST", "/api/groups", {}, { ...cookie, ...headers })).status;
    expect((await server.anonymous.request("GET", "/api/auth/me", undefined, cookie)).status).toBe(200);
    expect(await change({})).toBe(403);
    expect(await change(csrf)).toBe(422);
    expect(await change({ ...csrf, origin: server.url })).toBe(422);
    expect(await change({ ...csrf, origin: "https://evil.example" })).toBe(403);
    expect(await change({ ...csrf, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await change({ ...csrf, "sec-fetch-site": "same-site", origin: server.url })).toBe(403);
    expect(await change({ ...csrf, "sec-fetch-site": "same-origin", origin: server.url })).toBe(422);
    const out = await server.anonymous.request("POST", "/api/auth/logout", undefined, { ...cookie, ...csrf });
    expect(cookieOf(out.headers)).toContain("slipway_session=; ");
    expect((await server.anonymous.request("GET", "/api/auth/me", undefined, cookie)).status).toBe(401);
  });
});
