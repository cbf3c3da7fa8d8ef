import { describe, expect, test } from "bun:test";
import { type ShownHook, setUpHostedProjects } from "../support/hosted-projects-setup.ts";

const { server, connected, newHost, newProject, saveToken } = await setUpHostedProjects();
const { admin } = server;

describe("a repository that was renamed at the host", () => {
  for (const kind of ["gitea", "github"] as const)
    test(`${kind}: keeps its webhook and deploy key when it is connected under its new name`, async () => {
      const host = newHost(kind);
      const { id: tokenId } = await saveToken(host, kind);
      const { id, path } = await newProject("git@127.0.0.1:ann/shop.git");
      await admin.expect(200, "POST", path, { tokenId, deployKey: true });
      Object.assign(host, { name: "ann/store", formerName: "ann/shop" });
      const { state, note } = await admin.expect<ShownHook>(200, "POST", `${path}/check`);
      expect([state, note]).toEqual(["unknown", expect.stringContaining("was renamed")]);
      expect(note).toContain("Enter its new clone URL in the project, then connect it again.");
      if (kind === "gitea") expect(note).toContain("renamed to ann/store (301)");

      await admin.expect(200, "PATCH", `/api/projects/${id}`, {
        git: { url: "git@127.0.0.1:ann/store.git" },
      });
      const again = { tokenId, deployKey: true, path: "ann/store" };
      expect(await admin.expect<ShownHook>(200, "POST", path, again)).toMatchObject({
        ...{ state: "ok", path: "ann/store", hasDeployKey: true },
      });
      expect([host.hooks.size, host.keys.size]).toEqual([1, 1]);
      await admin.expect(204, "DELETE", path);
      expect([host.hooks.size, host.keys.size]).toEqual([0, 0]);
    });

  test("gets a deploy key although the host has one of the project that is not known here", async () => {
    const host = newHost("gitea");
    const { id: tokenId } = await saveToken(host, "gitea");
    const { id, path } = await newProject("git@127.0.0.1:ann/shop.git");
    const { name } = await admin.expect<{ name: string }>(200, "GET", `/api/projects/${id}`);
    const earlier = { id: 1, title: `Slipway: ${name}`, key: "ssh-ed25519 AAAA", isReadOnly: true };
    host.keys.set(earlier.id, earlier);
    expect(await admin.expect<ShownHook>(200, "POST", path, { tokenId, deployKey: true })).toMatchObject({
      ...{ state: "ok", hasDeployKey: true },
    });
    expect(host.keys.size).toBe(2);
  });
});

describe("a repository that was deleted at the host", () => {
  test("is named as such, and its connection can be forgotten", async () => {
    const { host, check, path } = await connected("gitea");
    host.name = "";
    const { state, note } = await check();
    expect([state, note]).toEqual(["unknown", expect.stringContaining("it was deleted or renamed")]);
    const { status, text } = await admin.request("DELETE", path);
    expect([status, text]).toEqual([409, expect.stringContaining("it was deleted or renamed")]);
    const before = host.requests.length;
    await admin.expect(204, "DELETE", `${path}?keep=true`);
    expect(host.requests.length).toBe(before);
    expect(await admin.expect(200, "GET", path)).toEqual({ hook: null });
  });

  for (const kind of ["gitea", "github"] as const)
    test(`${kind}: does not keep the project from being connected to another one, or to one of the same name`, async () => {
      const host = newHost(kind);
      const { id: tokenId } = await saveToken(host, kind);
      const { id, path } = await newProject("git@127.0.0.1:ann/shop.git");
      const connect = () => admin.expect<ShownHook>(200, "POST", path, { tokenId, deployKey: true });
      const replaceBy = (name: string) => {
        host.name = name;
        host.hooks.clear();
        host.keys.clear();
      };
      await connect();
      replaceBy("ann/shop");
      expect(await connect()).toMatchObject({ state: "ok", path: "ann/shop", hasDeployKey: true });
      replaceBy("ann/store");
      const git = { url: "git@127.0.0.1:ann/store.git" };
      await admin.expect(200, "PATCH", `/api/projects/${id}`, { git });
      expect(await connect()).toMatchObject({ state: "ok", path: "ann/store", hasDeployKey: true });
      expect([host.hooks.size, host.keys.size]).toEqual([1, 1]);
    });
});

for (const kind of ["gitea", "gitlab"] as const)
  test(`${kind}: a webhook that sends only some branches is shown as changed, and repaired`, async () => {
    const { host, check, path, tokenId } = await connected(kind);
    const [hook] = [...host.hooks.values()];
    Object.assign(hook ?? {}, { branchFilter: "release/*" });
    expect(await check()).toMatchObject({
      state: "changed",
      note: "It sends only events of branches that match release/*.",
    });
    expect(await admin.expect<ShownHook>(200, "POST", path, { tokenId })).toMatchObject({ state: "ok" });
    expect(["", "*"]).toContain(String(hook?.branchFilter));
    expect(await check()).toMatchObject({ state: "ok" });
  });
