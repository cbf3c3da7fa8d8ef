import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type HostKind, hostKinds } from "../../src/model/host/host-token.ts";
import { type ApiClient, type ApiServer, startApiServer } from "../support/api-server.ts";
import { type HostService, startHostService } from "../support/host-services.ts";

interface Hook {
  state: string;
  note: string;
  hasDeployKey: boolean;
  isChecked: boolean;
}
interface Token {
  id: number;
  login: string;
  scopes: string[] | null;
  expiresAt: string | null;
}
interface Repositories {
  items: { path: string }[];
  isCut: boolean;
}

const baseUrl = "https://slipway.example.com";
let server: ApiServer;
const hosts: HostService[] = [];
beforeAll(async () => {
  server = await startApiServer({
    "server.baseUrl": baseUrl,
    "tasks.allowInternalNotifications": true,
    "tasks.allowLocalRepositories": true,
  });
}, 60_000);
afterAll(() => server.stop());

// A user may have 20 tokens.
afterEach(async () => {
  const { items } = await server.admin.expect<{ items: Token[] }>(200, "GET", "/api/host-tokens");
  for (const { id } of items) await server.admin.expect(204, "DELETE", `/api/host-tokens/${id}`);
  for (const host of hosts.splice(0)) host.stop();
});

function newHost(kind: HostKind): HostService {
  const host = startHostService(kind);
  hosts.push(host);
  return host;
}

const postToken = (host: HostService, kind: HostKind, client: ApiClient = server.admin) =>
  client.request("POST", "/api/host-tokens", { kind, url: host.origin, token: host.token });

async function saveToken(host: HostService, kind: HostKind, client?: ApiClient): Promise<Token> {
  const { status, body } = await postToken(host, kind, client);
  expect(status).toBe(201);
  return body as Token;
}

let count = 0;
async function newProject(url: string): Promise<{ id: number; path: string }> {
  const project = { name: `project ${++count}`, git: { url } };
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", project);
  return { id, path: `/api/projects/${id}/host-hook` };
}

/** A project whose webhook was created at a new host. */
async function connected(kind: HostKind) {
  const host = newHost(kind);
  const { id: tokenId } = await saveToken(host, kind);
  const project = await newProject(host.cloneUrl);
  await server.admin.expect(200, "POST", project.path, { tokenId });
  const check = () => server.admin.expect<Hook>(200, "POST", `${project.path}/check`);
  return { ...project, host, tokenId, check };
}

describe("a token", () => {
  for (const kind of hostKinds)
    test(`${kind}: is verified when it is stored: whose it is and what it may do`, async () => {
      const host = newHost(kind);
      const expected: Record<HostKind, Partial<Token>> = {
        github: { scopes: ["repo"], expiresAt: null },
        gitlab: { scopes: ["api"], expiresAt: "2030-01-31T00:00:00.000Z" },
        gitea: { scopes: ["read:user", "write:repository"], expiresAt: null },
        gitee: { scopes: null, expiresAt: null },
      };
      expect(await saveToken(host, kind)).toMatchObject({ login: "ann", ...expected[kind] });
      expect([host.hooks.size, host.keys.size]).toEqual([0, 0]);
    });

  const weak: [HostKind, string[], string][] = [
    ["github", ["read:org", "public_repo"], "lacks the scope repo (it has read:org, public_repo)"],
    ["gitlab", ["read_api", "read_user"], "lacks the scope api (it has read_api, read_user)"],
    ["gitea", ["read:repository", "read:user"], "lacks the scope write:repository (it has read:repository"],
    ["gitea", ["write:repository"], "required=[read:user]"],
  ];
  for (const [kind, scopes, text] of weak)
    test(`${kind}: with ${scopes} alone is refused, and the answer names what is missing`, async () => {
      const host = newHost(kind);
      host.scopes.splice(0, 9, ...scopes);
      const refused = await postToken(host, kind);
      expect(refused.text).toContain(text);
      expect(refused.status).toBeGreaterThanOrEqual(400);
      const { items } = await server.admin.expect<{ items: { origin: string }[] }>(
        200,
        "GET",
        "/api/host-tokens",
      );
      expect(items.some(({ origin }) => origin === host.origin)).toBe(false);
    });

  test("is not sent to the address of a redirect, and the answer names that address", async () => {
    const host = newHost("gitea");
    const other = newHost("gitea");
    host.failWith = { status: 307, headers: { location: `${other.origin}/api/v1/user` } };
    const refused = await postToken(host, "gitea");
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(other.origin)]);
    expect(other.requests).toEqual([]);
  });

  test("is not sent to an internal address that a name leads to", async () => {
    const guarded = await startApiServer({ "server.baseUrl": baseUrl });
    const host = newHost("gitea");
    const url = host.origin.replace("127.0.0.1", "localhost");
    const refused = await guarded.admin.request("POST", "/api/host-tokens", {
      ...{ kind: "gitea", url, token: host.token },
    });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("internal address")]);
    expect(host.requests).toEqual([]);
    await guarded.stop();
  }, 30_000);

  test("is not sent over http to a host that has https", async () => {
    const refused = await server.admin.request("POST", "/api/host-tokens", {
      ...{ kind: "github", url: "http://github.com", token: "github-token-of-ann" },
    });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("https://")]);
  });

  test("that the host repeats in its answer is not shown or stored", async () => {
    const { host, check, path } = await connected("gitee");
    host.failWith = { status: 400, body: JSON.stringify({ message: `bad: ?access_token=${host.token}` }) };
    expect((await check()).note).toContain("bad: ?access_token=…");
    const { id: viewer, client } = await server.newUser("viewer-of-notes");
    await server.admin.expect(200, "PUT", `${path.replace("/host-hook", "")}/members/${viewer}`, {
      permission: "view",
    });
    expect((await client.request("GET", path)).text).not.toContain(host.token);
  });

  test("is stored only by users who manage something: the server connects to the address", async () => {
    const host = newHost("gitea");
    const { id: userId, client } = await server.newUser("newcomer");
    expect((await postToken(host, "gitea", client)).status).toBe(403);
    expect(host.requests).toEqual([]);
    const { id } = await newProject(host.cloneUrl);
    await server.admin.expect(200, "PUT", `/api/projects/${id}/members/${userId}`, { permission: "manage" });
    expect((await postToken(host, "gitea", client)).status).toBe(201);
  });

  test("is not stored beside 20 others of the same user; a stored one can be replaced", async () => {
    const servers = Array.from({ length: 21 }, () => newHost("gitee"));
    const statuses = [];
    for (const host of servers) statuses.push((await postToken(host, "gitee")).status);
    expect(statuses).toEqual([...Array(20).fill(201), 409]);
    expect((await postToken(servers[0] as HostService, "gitee")).status).toBe(201);
  });

  test("goes with its user, and the webhooks that it created are no longer checked", async () => {
    const host = newHost("gitlab");
    const { id: userId, client } = await server.newUser("leaver", "admin");
    const { id: tokenId } = await saveToken(host, "gitlab", client);
    const { path } = await newProject(host.cloneUrl);
    await client.expect(200, "POST", path, { tokenId });
    await server.admin.expect(204, "DELETE", `/api/users/${userId}`);
    expect(await server.admin.expect(200, "GET", path)).toMatchObject({ hook: { isChecked: false } });
  });
});

describe("repositories", () => {
  const many = (number: number) =>
    Array.from({ length: number }, (_, index) => ({
      path: `ann/app-${String(index + 1).padStart(4, "0")}`,
      isAdmin: true,
    }));
  for (const kind of hostKinds)
    test(`${kind}: of hundreds, each is found by a part of its name`, async () => {
      const host = newHost(kind);
      host.repositories.splice(0, 9, ...many(430), { path: "team/ledger", isAdmin: true });
      const { id } = await saveToken(host, kind);
      const find = (search: string) =>
        server.admin.expect<Repositories>(
          200,
          "GET",
          `/api/host-tokens/${id}/repositories?search=${encodeURIComponent(search)}`,
        );
      const all = await find("");
      expect([all.items.length, all.isCut]).toEqual([100, true]);
      for (const search of ["ledger", "LEDG", "team/ledger", "team/led"])
        expect(await find(search)).toMatchObject({ items: [{ path: "team/ledger" }], isCut: false });
      expect((await find("app-0430")).items.map(({ path }) => path)).toEqual(["ann/app-0430"]);
      // GitLab compares a search of less than three letters with whole names.
      const short = await find("er");
      expect(short.items.map(({ path }) => path)).toEqual(["team/ledger"]);
      expect(await find("no such")).toEqual({ items: [], isCut: false });
      const before = host.requests.length;
      await find("app-01");
      expect(host.requests.length - before).toBeLessThanOrEqual(4);
    });

  test("beyond the first thousand are not read, and the answer says that the list is cut", async () => {
    const host = newHost("github");
    host.repositories.splice(0, 9, ...many(1500));
    const { id } = await saveToken(host, "github");
    const before = host.requests.length;
    const path = `/api/host-tokens/${id}/repositories?search=app-1400`;
    expect(await server.admin.expect<Repositories>(200, "GET", path)).toEqual({ items: [], isCut: true });
    expect(host.requests.length - before).toBeLessThanOrEqual(11);
  });
});

describe("a webhook that was created", () => {
  const answers: [string, HostService["failWith"], string][] = [
    ["a revoked token", 401, "has expired or was revoked"],
    ["a token without permission", 403, "lacks the permission (403)"],
    [
      // https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
      "GitHub's rate limit",
      {
        status: 403,
        headers: {
          "x-ratelimit-remaining": "0",
          "x-ratelimit-reset": String(Math.ceil(Date.now() / 1000) + 900),
        },
      },
      "rate limit is used up until",
    ],
    [
      "GitHub's second rate limit",
      { status: 403, headers: { "retry-after": "60" } },
      "rate limit is used up",
    ],
    ["too many requests", { status: 429, headers: { "retry-after": "30" } }, "rate limit is used up"],
    ["an outage", 503, "has a problem (503)"],
    ["a page of a proxy", { status: 200, body: "<html>Sign in</html>" }, "did not answer with a webhook"],
    [
      "a moved server",
      { status: 301, headers: { location: "https://new.example.com/x" } },
      "https://new.example.com",
    ],
  ];
  for (const [name, failWith, text] of answers)
    test(`is not shown as deleted or changed because of ${name}`, async () => {
      const { host, check } = await connected("github");
      host.failWith = failWith;
      expect(await check()).toMatchObject({ state: "unknown", note: expect.stringContaining(text) });
      host.failWith = null;
      expect(await check()).toMatchObject({ state: "ok", note: "" });
    });

  test("is not shown as deleted because the host is not reachable, or because the token may not see the repository", async () => {
    const { host, check } = await connected("github");
    host.isHidden = true;
    expect(await check()).toMatchObject({
      state: "unknown",
      note: expect.stringContaining("may not see it"),
    });
    host.stop();
    expect(await check()).toMatchObject({
      state: "unknown",
      note: expect.stringContaining("could not be called"),
    });
  });

  test("is checked again within the hour after an outage, and the next day after a clear answer", async () => {
    const { host, check, id } = await connected("gitea");
    const hoursLeft = () => {
      const database = new Database(join(server.dataDir, "slipway.db"), { readonly: true });
      const row = database.query("select next_check_at at from host_hooks where project_id = ?").get(id);
      database.close();
      return Math.round(((row as { at: number }).at - Date.now()) / 3_600_000);
    };
    host.failWith = 502;
    await check();
    expect(hoursLeft()).toBe(1);
    host.failWith = null;
    await check();
    expect(hoursLeft()).toBe(24);
  });

  for (const kind of hostKinds)
    test(`${kind}: one with the same address that already exists is used, and none is added`, async () => {
      const { host, path, tokenId } = await connected(kind);
      const [hook] = [...host.hooks.values()];
      // Slipway does not know it any more; it is not on the first page.
      await server.admin.expect(204, "DELETE", path);
      for (let number = 0; number < 120; number++)
        host.hooks.set(10_000 + number, {
          ...{ id: 10_000 + number, url: `https://x.example.com/${number}` },
          ...{ secret: "", isActive: true, sendsPushes: true },
        });
      if (hook) host.hooks.set(20_000, { ...hook, id: 20_000, secret: "old", isActive: false });
      expect(await server.admin.expect(200, "POST", path, { tokenId })).toMatchObject({ state: "ok" });
      expect(host.hooks.size).toBe(121);
      expect(host.hooks.get(20_000)).toMatchObject({ isActive: kind !== "gitee" });
      expect(host.hooks.get(20_000)?.secret).not.toBe("old");
    });

  test("is created once by two requests at the same time", async () => {
    const host = newHost("gitlab");
    const { id: tokenId } = await saveToken(host, "gitlab");
    const { path } = await newProject(host.cloneUrl);
    const statuses = await Promise.all(
      [1, 2, 3].map(async () => (await server.admin.request("POST", path, { tokenId })).status),
    );
    expect(statuses.sort()).toEqual([200, 409, 409]);
    expect(host.hooks.size).toBe(1);
  });

  test("works on after a repair that the host refused: its secret stays valid, and a webhook without one stays as it was", async () => {
    const { host, id, path, tokenId } = await connected("github");
    const [hook] = [...host.hooks.values()];
    host.failWith = 403;
    expect((await server.admin.request("POST", path, { tokenId })).status).toBe(409);
    host.failWith = null;
    await server.admin.expect(200, "POST", path, { tokenId });
    expect([...host.hooks.values()]).toMatchObject([{ secret: hook?.secret }]);

    const open = await newProject(host.cloneUrl);
    const webhook = `/api/projects/${open.id}/webhook`;
    await server.admin.expect(200, "PUT", webhook, { enabled: true, provider: "generic" });
    host.failWith = 403;
    expect((await server.admin.request("POST", open.path, { tokenId })).status).toBe(409);
    expect(await server.admin.expect(200, "GET", webhook)).toMatchObject({
      ...{ enabled: true, provider: "generic", secretSet: false },
    });
    expect(await server.admin.expect(200, "GET", `/api/projects/${id}/webhook`)).toMatchObject({
      secretSet: true,
    });
  });

  test("does not come back when the token is forgotten, or the project deleted, while it is created", async () => {
    for (const gone of ["token", "project"] as const) {
      const host = newHost("gitea");
      const { id: tokenId } = await saveToken(host, "gitea");
      const { id, path } = await newProject(host.cloneUrl);
      host.onRequest = async (request) => {
        if (request !== "POST /api/v1/repos/ann/shop/hooks") return;
        host.onRequest = null;
        const address = gone === "token" ? `/api/host-tokens/${tokenId}` : `/api/projects/${id}`;
        await server.admin.expect(204, "DELETE", address);
      };
      const refused = await server.admin.request("POST", path, { tokenId });
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect(host.hooks.size).toBe(0);
      if (gone === "token") expect(await server.admin.expect(200, "GET", path)).toEqual({ hook: null });
    }
  });

  test("and was deleted here while it was checked is not stored again", async () => {
    const { host, path, check } = await connected("gitea");
    host.onRequest = async (request) => {
      if (!request.startsWith("GET ")) return;
      host.onRequest = null;
      await server.admin.expect(204, "DELETE", path);
    };
    await check();
    expect(await server.admin.expect(200, "GET", path)).toEqual({ hook: null });
  });

  test("is checked and deleted by another manager only with a token of their own", async () => {
    const { host, path } = await connected("gitea");
    const { client } = await server.newUser("second-admin", "admin");
    const before = host.requests.length;
    for (const [method, address] of [
      ["POST", `${path}/check`],
      ["DELETE", path],
    ] as const) {
      const refused = await client.request(method, address);
      expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("a token of your own")]);
    }
    expect(host.requests.length).toBe(before);
    await saveToken(host, "gitea", client);
    expect(await client.expect<Hook>(200, "POST", `${path}/check`)).toMatchObject({ state: "ok" });
    await client.expect(204, "DELETE", path);
    expect(host.hooks.size).toBe(0);
  });

  test("is not created in another repository that a manager entered meanwhile", async () => {
    const { host, id, path, tokenId } = await connected("gitea");
    const before = host.requests.length;
    await server.admin.expect(200, "PATCH", `/api/projects/${id}`, {
      git: { url: `${host.origin}/ann/private-notes.git` },
    });
    const refused = await server.admin.request("POST", path, { tokenId });
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("ann/private-notes")]);
    expect(host.requests.length).toBe(before);
    const seen = await server.admin.request("POST", path, { tokenId, path: "ann/private-notes" });
    // The stand-in has no such repository, but it was asked for it.
    expect([seen.status, host.requests.length > before]).toEqual([409, true]);
  });

  test("whose deploy key was deleted at the host is shown as changed, and repaired with a new key", async () => {
    const host = newHost("gitlab");
    const { id: tokenId } = await saveToken(host, "gitlab");
    const { path } = await newProject("git@127.0.0.1:ann/shop.git");
    await server.admin.expect(200, "POST", path, { tokenId, deployKey: true });
    host.keys.clear();
    expect(await server.admin.expect(200, "POST", `${path}/check`)).toMatchObject({
      ...{ state: "changed", note: expect.stringContaining("deploy key") },
    });
    expect(await server.admin.expect(200, "POST", path, { tokenId })).toMatchObject({ state: "ok" });
    expect([...host.keys.values()]).toMatchObject([{ isReadOnly: true }]);
  });

  test("that cannot be deleted at the host is named, with the reason, and its key is deleted all the same", async () => {
    const host = newHost("gitea");
    const { id: tokenId } = await saveToken(host, "gitea");
    const { path } = await newProject("git@127.0.0.1:ann/shop.git");
    await server.admin.expect(200, "POST", path, { tokenId, deployKey: true });
    host.onRequest = (request) => {
      host.failWith = request.startsWith("DELETE /api/v1/repos/ann/shop/hooks") ? 500 : null;
    };
    const refused = await server.admin.request("DELETE", path);
    expect([refused.status, refused.text]).toEqual([
      409,
      expect.stringContaining("the webhook: the server has a problem"),
    ]);
    expect([host.hooks.size, host.keys.size]).toEqual([1, 0]);
    host.onRequest = null;
    host.failWith = null;
    await server.admin.expect(204, "DELETE", path);
    expect(host.hooks.size).toBe(0);
  });
});
