import { afterAll, describe, expect, test } from "bun:test";
import { hostKinds } from "../../src/git-host/hosts.ts";
import { signInAt, startApiServer } from "../support/api-server.ts";
import { availableDatabases } from "../support/databases.ts";
import { startDeployServer } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { startHostService } from "../support/host-services.ts";
import { baseUrl, type ShownHook, setUpHostedProjects } from "../support/hosted-projects-setup.ts";
import { openServerFile } from "../support/server-file.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const databases = await availableDatabases();
const made = await Promise.all(databases.map(({ make }) => make()));
const setUps = await Promise.all(made.map(({ url }) => setUpHostedProjects({ "database.url": url })));
afterAll(() => Promise.all(made.map((database) => database.remove())));

describe.each(setUps.map((setUp, at) => ({ name: databases[at]?.name ?? "", setUp })))(
  "on $name",
  ({ setUp: { server, newHost, newProject, saveToken } }) => {
    for (const kind of hostKinds)
      test(`${kind}: a webhook is created, read back, and repaired after each change at the host`, async () => {
        const host = newHost(kind);
        const { id: tokenId } = await saveToken(host, kind);
        const { items } = await server.admin.expect<{ items: object[] }>(
          200,
          "GET",
          `/api/host-tokens/${tokenId}/repositories`,
        );
        expect(items).toMatchObject([{ path: "ann/shop", isPrivate: true }]);
        const { id, path } = await newProject(host.cloneUrl);
        expect(await server.admin.expect(200, "GET", path)).toEqual({ hook: null });
        const connect = () => server.admin.expect<ShownHook>(200, "POST", path, { tokenId });
        expect(await connect()).toMatchObject({ state: "ok", isChecked: true, hasDeployKey: false });
        const only = () => {
          expect(host.hooks.size).toBe(1);
          return [...host.hooks.values()][0] as NonNullable<ReturnType<typeof host.hooks.get>>;
        };
        const webhook = await server.admin.expect<{ url: string }>(200, "GET", `/api/projects/${id}/webhook`);
        expect(webhook).toMatchObject({ provider: kind, enabled: true, secretSet: true });
        expect(only()).toMatchObject({ url: webhook.url, isActive: true, sendsPushes: true });
        expect(webhook.url).toStartWith(`${baseUrl}/api/hooks/git/`);

        const check = () => server.admin.expect<ShownHook>(200, "POST", `${path}/check`);
        const { secret } = only();
        const broken: [string, () => void][] = [
          ["changed", () => Object.assign(only(), { url: "https://elsewhere.example.com" })],
          ["changed", () => Object.assign(only(), { sendsPushes: false, secret: "of somebody else" })],
          ["missing", () => host.hooks.clear()],
          // Gitee cannot switch a hook off.
          ...(kind === "gitee"
            ? []
            : [["disabled", () => Object.assign(only(), { isActive: false })] as [string, () => void]]),
        ];
        for (const [state, change] of broken) {
          change();
          expect(await check()).toMatchObject({ state });
          expect(await server.admin.expect(200, "GET", path)).toMatchObject({ hook: { state } });
          expect(await connect()).toMatchObject({ state: "ok" });
          // A secret cannot be read back, so each repair sends the stored one again.
          expect(only()).toMatchObject({ url: webhook.url, isActive: true, sendsPushes: true, secret });
        }
        await server.admin.expect(204, "DELETE", path);
        expect([host.hooks.size, await server.admin.expect(200, "GET", path)]).toEqual([0, { hook: null }]);
      });

    for (const kind of ["github", "gitea"] as const)
      test(`${kind}: subscribes to each change once, and is as wanted if somebody subscribes to more`, async () => {
        const host = newHost(kind);
        const { id: tokenId } = await saveToken(host, kind);
        const { path } = await newProject(host.cloneUrl);
        await server.admin.expect(200, "POST", path, { tokenId });
        const [hook] = [...host.hooks.values()];
        // A new branch or tag is announced by push as well: with create, each would arrive twice.
        expect(hook?.events).not.toContain("create");
        hook?.events.push("create");
        expect(await server.admin.expect<ShownHook>(200, "POST", `${path}/check`)).toMatchObject({
          state: "ok",
        });
      });

    for (const kind of hostKinds)
      test(`${kind}: the token reports commit statuses if that was asked for, unless another token does`, async () => {
        const host = newHost(kind);
        const { id: tokenId } = await saveToken(host, kind);
        const { id, path } = await newProject(host.cloneUrl);
        const tokenSet = async () =>
          (await server.admin.expect<{ statusTokenSet: boolean }>(200, "GET", `/api/projects/${id}/keys`))
            .statusTokenSet;
        await server.admin.expect(200, "POST", path, { tokenId });
        expect(await tokenSet()).toBe(false);
        await server.admin.expect(200, "POST", path, { tokenId, commitStatus: true });
        expect(await tokenSet()).toBe(true);
      });

    for (const kind of hostKinds)
      test(`${kind}: a deploy key is ed25519, read-only, stored as the credential, and deleted with the webhook`, async () => {
        const host = newHost(kind);
        const { id: tokenId } = await saveToken(host, kind);
        const https = await newProject(host.cloneUrl);
        const refused = await server.admin.request("POST", https.path, { tokenId, deployKey: true });
        expect([refused.status, host.hooks.size, host.keys.size]).toEqual([422, 0, 0]);
        const { id, path } = await newProject("git@127.0.0.1:ann/shop.git");
        const made = await server.admin.expect<ShownHook>(200, "POST", path, { tokenId, deployKey: true });
        expect(made).toMatchObject({ state: "ok", hasDeployKey: true });
        expect([...host.keys.values()]).toMatchObject([{ isReadOnly: true }]);
        expect(await server.admin.expect(200, "GET", `/api/projects/${id}`)).toMatchObject({
          git: { credentialSet: true },
        });
        await server.admin.expect(204, "DELETE", path);
        expect([host.hooks.size, host.keys.size]).toEqual([0, 0]);
      });

    test("a token is used for its owner and its server only, is never shown, and forgetting it ends the checks", async () => {
      const host = newHost("gitea");
      const other = newHost("gitea");
      const { id: tokenId } = await saveToken(host, "gitea");
      const { client } = await server.newUser("bob", "admin");
      const { path } = await newProject(host.cloneUrl);
      await server.admin.expect(200, "POST", path, { tokenId });

      const calls = host.requests.length;
      expect((await client.request("POST", path, { tokenId })).status).toBe(404);
      expect((await client.request("GET", `/api/host-tokens/${tokenId}/repositories`)).status).toBe(404);
      expect((await client.request("DELETE", `/api/host-tokens/${tokenId}`)).status).toBe(404);
      expect((await client.request("DELETE", path)).status).toBe(409);
      expect(await client.expect(200, "GET", "/api/host-tokens")).toMatchObject({ items: [] });
      expect(host.requests.length).toBe(calls);

      // Nor by an API token of its owner, which could otherwise reach every repository of the host token.
      const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
        name: "ci",
        scopes: ["admin"],
      });
      for (const [method, body] of [["POST", { tokenId }], ["DELETE"]] as const)
        expect((await server.as(token).request(method, path, body)).status).toBe(403);
      expect(host.requests.length).toBe(calls);

      const elsewhere = await newProject(other.cloneUrl);
      const wrong = await server.admin.request("POST", elsewhere.path, { tokenId });
      expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining(other.origin)]);
      expect(other.requests).toEqual([]);
      const bad = await server.admin.request("POST", "/api/host-tokens", {
        kind: "gitea",
        url: other.origin,
        token: "not the token",
      });
      expect([bad.status, bad.text]).toEqual([409, expect.stringContaining("401")]);

      const listed = await server.admin.request("GET", "/api/host-tokens");
      expect(listed.text).toContain(host.origin);
      for (const text of [listed.text, server.logLines.join("\n")]) expect(text).not.toContain(host.token);
      await server.admin.expect(204, "DELETE", `/api/host-tokens/${tokenId}`);
      const before = host.requests.length;
      const checked = await server.admin.expect<ShownHook>(200, "POST", `${path}/check`);
      expect(checked).toMatchObject({ isChecked: false, state: "unknown" });
      expect(host.requests.length).toBe(before);
      expect(host.hooks.size).toBe(1);
    });
  },
);

test("without server.baseUrl no webhook is created", async () => {
  const host = startHostService("github");
  const open = await startApiServer({
    "tasks.allowInternalNotifications": true,
    "tasks.allowLocalRepositories": true,
  });
  const token = { kind: "github", url: host.origin, token: host.token };
  const { id: tokenId } = await open.admin.expect<{ id: number }>(201, "POST", "/api/host-tokens", token);
  const { id } = await open.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: "shop",
    git: { url: host.cloneUrl },
  });
  const refused = await open.admin.request("POST", `/api/projects/${id}/host-hook`, { tokenId });
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("server.baseUrl")]);
  expect(host.hooks.size).toBe(0);
  await open.stop();
  host.stop();
});

test("a self-hosted Git host is recognised by its API, which is not called where internal addresses are refused", async () => {
  const local = { "tasks.allowLocalRepositories": true };
  const open = await startApiServer({ ...local, "tasks.allowInternalNotifications": true });
  const guarded = await startApiServer(local);
  const inspect = (server: typeof open, url: string) =>
    server.admin.expect<{ provider: string | null }>(200, "POST", "/api/repositories/inspect", { url });
  for (const kind of ["gitea", "gitlab", "github"] as const) {
    const host = startHostService(kind);
    expect(await inspect(open, host.cloneUrl)).toMatchObject({
      provider: kind,
      name: "shop",
      needsCredential: true,
    });
    host.requests.length = 0;
    expect(await inspect(guarded, host.cloneUrl)).toMatchObject({ provider: null });
    expect(host.requests).toEqual([]);
    host.stop();
    // A host that is down is unknown, no credential helps, and the answer still names the repository.
    expect(await inspect(open, host.cloneUrl)).toMatchObject({
      provider: null,
      name: "shop",
      needsCredential: false,
      problemParts: [{ code: "git_repository" }],
    });
  }
  // Any site may answer something else at these addresses.
  const site = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json(["hello"]) });
  expect(await inspect(open, `${site.url.origin}/ann/shop.git`)).toMatchObject({ provider: null });
  site.stop(true);
  await Promise.all([open.stop(), guarded.stop()]);
});

test("a created webhook is checked once a day, also after a restart, while the user of its token may manage the project", async () => {
  const host = startHostService("gitlab");
  const dataDir = temporaryFolder("hooks");
  const settings = {
    "server.baseUrl": baseUrl,
    "tasks.allowInternalNotifications": true,
    "tasks.allowLocalRepositories": true,
  };
  const first = await startDeployServer(settings, dataDir);
  const token = { kind: "gitlab", url: host.origin, token: host.token };
  const { id: tokenId } = await first.admin.expect<{ id: number }>(201, "POST", "/api/host-tokens", token);
  const id = await first.project(host.cloneUrl, {}, { name: "shop" });
  await first.admin.expect(200, "POST", `/api/projects/${id}/host-hook`, { tokenId });
  const bobs = await first.project(host.cloneUrl, {}, { name: "shop of bob" });
  const password = "the password of bob";
  const { id: bobId } = await first.admin.expect<{ id: number }>(201, "POST", "/api/users", {
    ...{ username: "bob", password, role: "user" },
  });
  const membership = `/api/projects/${bobs}/members/${bobId}`;
  await first.admin.expect(200, "PUT", membership, { permission: "manage" });
  const bob = await signInAt(first.url, "bob", password);
  const { id: bobsToken } = await bob.expect<{ id: number }>(201, "POST", "/api/host-tokens", token);
  await bob.expect(200, "POST", `/api/projects/${bobs}/host-hook`, { tokenId: bobsToken });
  await first.admin.expect(204, "DELETE", membership);
  await first.stop();
  host.hooks.clear();

  const hookOf = async (server: typeof first, projectId: number) =>
    (await server.admin.expect<{ hook: ShownHook }>(200, "GET", `/api/projects/${projectId}/host-hook`)).hook;
  const state = async (server: typeof first) => (await hookOf(server, id)).state;
  const early = await startDeployServer(settings, dataDir);
  expect(await state(early)).toBe("ok");
  await early.stop();
  const database = openServerFile(dataDir);
  database.run("update host_hooks set next_check_at = 1");
  database.close();
  const late = await startDeployServer(settings, dataDir);
  await eventually("the daily check ran", async () => (await state(late)) === "missing");
  await eventually("the other one too", async () => (await hookOf(late, bobs)).state === "unknown");
  expect(await hookOf(late, bobs)).toMatchObject({
    note: expect.stringContaining("may no longer manage the project"),
    noteParts: [{ code: expect.any(String) }],
  });
  await late.stop();
  late.remove();
  host.stop();
});
