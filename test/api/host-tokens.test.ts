import { describe, expect, test } from "bun:test";
import { type HostKind, hostKinds } from "../../src/git-host/hosts.ts";
import { startApiServer } from "../support/api-server.ts";
import { freePort } from "../support/free-port.ts";
import type { HostService } from "../support/host-services.ts";
import { baseUrl, type ShownToken, setUpHostedProjects } from "../support/hosted-projects-setup.ts";

interface Repositories {
  items: { path: string }[];
  isCut: boolean;
}

const { server, connected, newHost, newProject, postToken, saveToken } = await setUpHostedProjects();

describe("a token", () => {
  for (const kind of hostKinds)
    test(`${kind}: is verified when it is stored: whose it is and what it may do`, async () => {
      const host = newHost(kind);
      const expected: Record<HostKind, Partial<ShownToken>> = {
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

  test("for a host that does not answer, or is out of order: the answer names the host and the problem", async () => {
    const url = `http://127.0.0.1:${freePort()}`;
    const refused = await server.admin.request("POST", "/api/host-tokens", {
      ...{ kind: "gitea", url, token: "a-token" },
    });
    expect([refused.status, refused.text]).toEqual([
      503,
      expect.stringContaining(`${url} could not be called`),
    ]);
    const broken = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response("maintenance", { status: 502 }),
    });
    const away = await server.admin.request("POST", "/api/host-tokens", {
      ...{ kind: "gitea", url: broken.url.origin, token: "a-token" },
    });
    await broken.stop(true);
    expect([away.status, away.text]).toEqual([
      503,
      expect.stringContaining("the server has a problem (502)"),
    ]);
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
  });

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

  test("reads a repository for its owner only, and only at its server", async () => {
    const [host, other] = [newHost("gitea"), newHost("gitea")];
    const { id: hostTokenId } = await saveToken(host, "gitea");
    const { client } = await server.newUser("reader", "admin");
    const inspect = (url: string, by = server.admin) =>
      by.request("POST", "/api/repositories/inspect", { url, hostTokenId });
    expect((await inspect(host.cloneUrl, client)).status).toBe(404);
    for (const url of [
      other.cloneUrl,
      "git@127.0.0.1:ann/shop.git",
      `${host.origin}@${other.cloneUrl.slice(7)}`,
    ])
      expect(await inspect(url)).toMatchObject({ status: 422, text: expect.stringContaining(host.origin) });
    expect(other.requests).toEqual([]);
    const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
      ...{ name: "script", scopes: ["admin"] },
    });
    expect((await inspect(host.cloneUrl, server.as(token))).status).toBe(403);
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
