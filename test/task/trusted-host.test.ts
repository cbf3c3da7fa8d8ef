import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type DeployServer, startDeployServer } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { serveGit } from "../support/git-http-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { deliverTo } from "../support/hook.ts";
import { startHostService } from "../support/host-services.ts";

let server: DeployServer;
let repository: GitRepository;
let commit: string;
/** The trusted server and another one on the same machine, which serves the same repositories. */
let here: Awaited<ReturnType<typeof startHost>>;
let elsewhere: ReturnType<typeof serveGit>;
const gitea = startHostService("gitea");

/** A server with repositories, `/moved/` on another server, and an API that takes everything. */
async function startHost(root: string, movedTo: string) {
  const git = serveGit(root, null);
  const posts: string[] = [];
  const front = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (pathname.startsWith("/moved/"))
        return Response.redirect(`${movedTo}${pathname.replace("/moved", "")}${search}`, 302);
      if (pathname.includes(".git/")) return fetch(`${git.url}${pathname}${search}`, request);
      posts.push(pathname);
      return Response.json({ id: 1 }, { status: 201 });
    },
  });
  const stop = () => {
    front.stop(true);
    git.stop();
  };
  return { origin: front.url.origin, posts, stop };
}

beforeAll(async () => {
  repository = await makeRepository();
  commit = await repository.push({ "app.txt": "one\n" });
  const root = join(repository.url, "..");
  elsewhere = serveGit(root, null);
  here = await startHost(root, elsewhere.url);
  server = await startDeployServer({
    "tasks.allowLocalRepositories": false,
    "tasks.allowInternalNotifications": false,
    "server.baseUrl": "https://slipway.example.com",
    "hosts.trusted": [here.origin, gitea.origin],
  });
});
afterAll(async () => {
  await server.stop();
  server.remove();
  for (const each of [here, elsewhere, gitea]) each.stop();
});

describe("a trusted origin", () => {
  test("is cloned by the runner over http, polled, and gets the commit status; nothing else is sent there", async () => {
    const id = await server.project(
      `${here.origin}/shop.git`,
      { build: "cat app.txt" },
      {
        notify: [{ url: `${here.origin}/message`, events: ["task.succeeded"] }],
      },
    );
    const path = `/api/projects/${id}`;
    await server.admin.expect(204, "PUT", `${path}/keys/status-token`, { value: "t0ken" });
    const hook = { enabled: true, provider: "gitea" };
    const { url } = await server.admin.expect<{ url: string }>(200, "PUT", `${path}/webhook`, hook);
    const { body } = await deliverTo(server.url + new URL(url).pathname, {
      headers: { "x-gitea-event": "push" },
      payload: { ref: "refs/heads/main", after: commit, pusher: { login: "ann" } },
    });
    expect((await server.reach(Number(body.taskId), "success", "failed")).state).toBe("success");
    await eventually("the status is sent", () => here.posts.some((post) => post.includes("/statuses/")));
    const { notify } = await server.admin.expect<{ notify: { id: string }[] }>(200, "GET", path);
    const sent = await server.admin.expect(200, "POST", `${path}/notify/${notify[0]?.id}/test`);
    expect(JSON.stringify(sent)).toContain("internal address");
    expect(here.posts.filter((post) => post.includes("/message"))).toEqual([]);
    type State = { poll: { lastAt: string | null; error: string } };
    const poll = async () => (await server.admin.expect<State>(200, "GET", `${path}/webhook`)).poll;
    await eventually("it was polled", async () => (await poll()).lastAt !== null);
    expect((await poll()).error).toBe("");
  });

  test("gets the commit statuses of a repository that is cloned over ssh from its host", async () => {
    here.posts.length = 0;
    const id = await server.project("git@127.0.0.1:ann/shop.git", { build: "true" });
    const path = `/api/projects/${id}`;
    await server.admin.expect(200, "PUT", `${path}/webhook`, { provider: "gitea" });
    await server.admin.expect(204, "PUT", `${path}/keys/status-token`, { value: "t0ken" });
    await server.admin.expect(201, "POST", `${path}/tasks`, { ref: "main", commit });
    const sent = `/api/v1/repos/ann/shop/statuses/${commit}`;
    await eventually("the status is sent", () => here.posts.includes(sent));
  });

  test("can be read, and gets webhooks", async () => {
    const url = `${here.origin}/shop.git`;
    expect(await server.admin.expect(200, "POST", "/api/repositories/inspect", { url })).toMatchObject({
      ...{ problem: "", defaultBranch: "main" },
    });
    const token = { kind: "gitea", url: gitea.origin, token: gitea.token };
    const { id: tokenId } = await server.admin.expect<{ id: number }>(201, "POST", "/api/host-tokens", token);
    const id = await server.project(gitea.cloneUrl, {});
    const connected = await server.admin.expect(200, "POST", `/api/projects/${id}/host-hook`, { tokenId });
    expect(connected).toMatchObject({ state: "ok" });
  });

  test("does not lead to another port: neither by a redirect nor by a submodule", async () => {
    const before = elsewhere.requests.length;
    const moved = await server.project(`${here.origin}/moved/shop.git`, { build: "true" });
    const { state, id, reason } = await server.reach((await server.run(moved)).id, "success", "failed");
    expect(reason).toContain("the repository was renamed or moved; enter its new clone URL in the project");
    expect([state, JSON.stringify(await server.log(id))]).toEqual(["failed", expect.stringContaining("302")]);
    const modules = `[submodule "lib"]\n\tpath = lib\n\turl = ${elsewhere.url}/shop.git\n`;
    await repository.git("checkout", "-q", "-b", "modules");
    await repository.push({ ".gitmodules": modules }, { branch: "modules" });
    await repository.git("update-index", "--add", "--cacheinfo", `160000,${commit},lib`);
    await repository.git("commit", "-q", "-m", "A submodule");
    await repository.git("push", "-q", "origin", "HEAD:refs/heads/modules");
    const git = { url: `${here.origin}/shop.git`, ref: "modules", submodules: true };
    const { id: nested } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
      ...{ name: "nested", git, stages: { build: { script: "true" } } },
    });
    const task = await server.reach((await server.run(nested)).id, "success", "failed");
    expect([task.state, JSON.stringify(await server.log(task.id))]).toEqual([
      "failed",
      expect.stringContaining("'untrusted' not allowed"),
    ]);
    expect(elsewhere.requests.length).toBe(before);
  });
});

test("another port of the same machine is refused as before", async () => {
  const git = { url: `${elsewhere.url}/shop.git` };
  const refused = await server.admin.request("POST", "/api/projects", { name: "elsewhere", git });
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("hosts.trusted")]);
  const other = startHostService("gitea");
  const token = { kind: "gitea", url: other.origin, token: other.token };
  const answer = await server.admin.request("POST", "/api/host-tokens", token);
  expect([answer.status, answer.text]).toEqual([422, expect.stringContaining("internal address")]);
  expect(other.requests).toEqual([]);
  other.stop();
});
