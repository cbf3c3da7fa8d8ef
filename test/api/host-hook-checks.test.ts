import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { hostKinds } from "../../src/git-host/hosts.ts";
import type { HostService } from "../support/host-services.ts";
import { type ShownHook, setUpHostedProjects } from "../support/hosted-projects-setup.ts";

const { server, connected, newHost, newProject, saveToken } = await setUpHostedProjects();

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
      note: expect.stringContaining("may no longer see it"),
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
          ...{ secret: "", isActive: true, sendsPushes: true, events: [], branchFilter: "" },
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

  test("is checked with another token of the caller after the token that created it is deleted", async () => {
    const { host, path, tokenId } = await connected("gitea");
    const { client } = await server.newUser("third-admin", "admin");
    await saveToken(host, "gitea", client);
    await server.admin.expect(204, "DELETE", `/api/host-tokens/${tokenId}`);
    expect(await client.expect<ShownHook>(200, "POST", `${path}/check`)).toMatchObject({
      state: "ok",
      note: "",
    });
    host.hooks.clear();
    expect(await client.expect<ShownHook>(200, "POST", `${path}/check`)).toMatchObject({ state: "missing" });
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
    expect(await client.expect<ShownHook>(200, "POST", `${path}/check`)).toMatchObject({ state: "ok" });
    await client.expect(204, "DELETE", path);
    expect(host.hooks.size).toBe(0);
  });

  test("is not created in another repository that a manager entered meanwhile", async () => {
    const { host, id, path, tokenId } = await connected("gitea");
    await server.admin.expect(200, "PATCH", `/api/projects/${id}`, {
      git: { url: `${host.origin}/ann/private-notes.git` },
    });
    const isAsked = () => host.requests.some((request) => request.includes("private-notes"));
    const refused = await server.admin.request("POST", path, { tokenId });
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("ann/private-notes")]);
    // Also if the repository that the user saw is gone.
    host.name = "";
    const other = await server.admin.request("POST", path, { tokenId, path: "ann/shop" });
    expect([other.status, other.text]).toEqual([409, expect.stringContaining("ann/private-notes")]);
    expect(isAsked()).toBe(false);
    const seen = await server.admin.request("POST", path, { tokenId, path: "ann/private-notes" });
    // The stand-in has no such repository, but it was asked for it.
    expect([seen.status, isAsked()]).toEqual([409, true]);
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

  test("and is repaired while it is checked keeps the result of the repair, and its new key", async () => {
    const host = newHost("gitlab");
    const { id: tokenId } = await saveToken(host, "gitlab");
    const { path } = await newProject("git@127.0.0.1:ann/shop.git");
    await server.admin.expect(200, "POST", path, { tokenId, deployKey: true });
    host.keys.clear();
    host.onRequest = async (request) => {
      if (!/^GET .*\/deploy_keys\//.test(request)) return;
      host.onRequest = null;
      await server.admin.expect(200, "POST", path, { tokenId });
    };
    expect(await server.admin.expect(200, "POST", `${path}/check`)).toMatchObject({ state: "ok" });
    expect(host.onRequest).toBeNull();
    expect(await server.admin.expect(200, "GET", path)).toMatchObject({ hook: { state: "ok" } });
    await server.admin.expect(204, "DELETE", path);
    expect([host.hooks.size, host.keys.size]).toEqual([0, 0]);
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
