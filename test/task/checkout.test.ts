import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkout } from "../../src/runner/checkout/checkout.ts";
import type { GitResult } from "../../src/runner/checkout/git-result.ts";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { serveGit } from "../support/git-http-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const credential = { type: "token", username: "deployer", token: "s3cr3t-t0ken-of-the-clone" };
const { server, repository } = await setUpDeploy();
const commits: string[] = [];
for (let version = 1; version <= 60; version += 1)
  commits.push(await repository.push({ "app.txt": `${version}\n` }, { message: `Version ${version}` }));

async function runGit(args: string[]): Promise<GitResult> {
  const git = Bun.spawn(["git", ...args], { stdout: "pipe", stderr: "ignore" });
  return { output: await new Response(git.stdout).text(), exitCode: await git.exited };
}

const show = { build: "cat app.txt; git status --short; git log -1 --format=%H" };
const built = async (id: number) =>
  (await server.log(id)).filter(({ stage }) => stage === "build").map(({ text }) => text);

describe("the commit that is checked out", () => {
  test("is the tip of the ref, and is stored", async () => {
    const projectId = await server.project(repository.url, show);
    const task = await server.reach((await server.run(projectId)).id, "success");
    expect(task.commit).toBe(commits.at(-1) ?? "");
    expect(await built(task.id)).toEqual(["60", commits.at(-1) ?? ""]);
  });

  test("is a pinned one, however deep in the history of the ref", async () => {
    const projectId = await server.project(repository.url, show);
    for (const index of [58, 30, 0]) {
      const commit = commits[index] ?? "";
      const task = await server.reach((await server.run(projectId, { commit })).id, "success");
      expect(await built(task.id)).toEqual([String(index + 1), commit]);
    }
  });

  test("must be reachable from the ref: a commit that a forced push removed is reported as unreachable", async () => {
    const other = await makeRepository();
    await other.push({ "app.txt": "one\n" });
    const gone = await other.push({ "app.txt": "two\n" });
    const projectId = await server.project(other.url, show);
    await server.reach((await server.run(projectId, { commit: gone })).id, "success");
    await other.git("reset", "-q", "--hard", "HEAD~1");
    await other.push({ "app.txt": "three\n" }, { force: true });
    const task = await server.reach((await server.run(projectId, { commit: gone })).id, "failed");
    expect(task.reason).toBe(`commit ${gone} is no longer reachable from main`);
    // A commit of another branch is not reachable either.
    const elsewhere = await other.push({ "app.txt": "four\n" }, { branch: "feature" });
    const refused = await server.reach((await server.run(projectId, { commit: elsewhere })).id, "failed");
    expect(refused.reason).toContain("no longer reachable from main");
    await server.reach((await server.run(projectId, { commit: elsewhere, ref: "feature" })).id, "success");
  });

  test("is found also if the host showed an earlier tip of the ref at first", async () => {
    const other = await makeRepository();
    const first = await other.push({ "app.txt": "one\n" });
    const second = await other.push({ "app.txt": "two\n" });
    const showTip = (commit: string) =>
      runGit(["--git-dir", other.url, "update-ref", "refs/heads/main", commit]);
    await showTip(first);
    const folder = temporaryFolder("checkout");
    const { commit } = await checkout({
      repo: { url: other.url, allowLocal: true, trusted: [], submodules: false, credential: null },
      ...{ ref: "main", commit: second, cache: join(folder, "cache"), target: join(folder, "source") },
      async git(args) {
        const result = await runGit(args);
        if (args.includes("fetch")) await showTip(second);
        return result;
      },
      writeLine() {},
    });
    expect(commit).toBe(second);
    expect(readFileSync(join(folder, "source/app.txt"), "utf8")).toBe("two\n");
  });

  test("may be a tag; a missing ref is named in the error", async () => {
    await repository.git("tag", "-a", "-m", "First", "v1", commits[0] ?? "");
    await repository.git("push", "-q", "origin", "v1");
    const projectId = await server.project(repository.url, show);
    const task = await server.reach((await server.run(projectId, { ref: "refs/tags/v1" })).id, "success");
    expect(task.commit).toBe(commits[0] ?? "");
    const missing = await server.reach((await server.run(projectId, { ref: "nowhere" })).id, "failed");
    expect(missing.reason).toBe(
      `nowhere does not exist in ${repository.url} as a branch; a tag is named refs/tags/nowhere.`,
    );
  });

  test("is fetched again when the cached clone is damaged", async () => {
    const projectId = await server.project(repository.url, show);
    await server.reach((await server.run(projectId)).id, "success");
    const cache = join(server.runnerDir, "cache", `project-${projectId}.git`);
    for (const name of readdirSync(join(cache, "objects/pack"))) {
      const file = join(cache, "objects/pack", name);
      rmSync(file, { force: true });
      if (name.endsWith(".pack")) writeFileSync(file, "");
    }
    writeFileSync(join(cache, "HEAD"), "nonsense");
    const task = await server.reach((await server.run(projectId)).id, "success");
    expect(await built(task.id)).toEqual(["60", commits.at(-1) ?? ""]);
  });
});

describe("a cached clone in which a git was killed, or a power loss emptied a file", () => {
  const damages = {
    "a lock of its depth": (cache: string) => writeFileSync(join(cache, "shallow.lock"), ""),
    "a lock of its ref": (cache: string) => writeFileSync(join(cache, "refs/slipway/build.lock"), ""),
    "an empty ref": (cache: string) => writeFileSync(join(cache, "refs/slipway/build"), ""),
    "settings that cannot be read": (cache: string) => writeFileSync(join(cache, "config"), "\0\0[core"),
    "a lock of its settings and no objects": (cache: string) => {
      writeFileSync(join(cache, "config.lock"), "");
      rmSync(join(cache, "objects"), { recursive: true });
    },
  };
  test.each(Object.entries(damages))("%s: the next task succeeds all the same", async (_name, damage) => {
    const other = await makeRepository();
    await other.push({ "app.txt": "one\n" });
    const projectId = await server.project(other.url, show);
    await server.reach((await server.run(projectId)).id, "success");
    damage(join(server.runnerDir, "cache", `project-${projectId}.git`));
    const commit = await other.push({ "app.txt": "two\n" });
    const task = await server.reach((await server.run(projectId)).id, "success");
    expect(await built(task.id)).toEqual(["two", commit]);
  });

  test("damaged objects: they are fetched again as soon as they are needed", async () => {
    const other = await makeRepository();
    await other.push({ "app.txt": "one\n" });
    const projectId = await server.project(other.url, show);
    await server.reach((await server.run(projectId)).id, "success");
    const cache = join(server.runnerDir, "cache", `project-${projectId}.git`);
    const packs = readdirSync(join(cache, "objects/pack")).filter((name) => name.endsWith(".pack"));
    expect(packs.length).toBeGreaterThan(0);
    for (const name of packs) {
      const file = join(cache, "objects/pack", name);
      const zeros = Buffer.alloc(readFileSync(file).length);
      rmSync(file);
      writeFileSync(file, zeros);
    }
    writeFileSync(join(cache, "config"), "\0\0[core");
    for (const content of ["two", "one"]) {
      const commit = await other.push({ "app.txt": `${content}\n` });
      const task = await server.reach((await server.run(projectId)).id, "success");
      expect(await built(task.id)).toEqual([content, commit]);
    }
  });

  test("is kept when the host does not answer", async () => {
    const other = await makeRepository();
    await other.push({ "app.txt": "one\n" });
    const projectId = await server.project(other.url, show);
    await server.reach((await server.run(projectId)).id, "success");
    const cache = join(server.runnerDir, "cache", `project-${projectId}.git`);
    writeFileSync(join(cache, "description"), "the same clone");
    renameSync(other.url, `${other.url}.away`);
    const failed = await server.reach((await server.run(projectId)).id, "failed");
    expect(failed.reason).toStartWith("git could not fetch main: ");
    renameSync(`${other.url}.away`, other.url);
    await server.reach((await server.run(projectId)).id, "success");
    expect(readFileSync(join(cache, "description"), "utf8")).toBe("the same clone");
  });
});

describe("refs and commits of strangers", () => {
  const refs = ["--upload-pack=touch /tmp/x", "-h", "a b", "$(id)", "`id`", "a;b", "a..b", "x".repeat(300)];
  test("that are invalid are refused before anything runs", async () => {
    const projectId = await server.project(repository.url, show);
    for (const ref of refs)
      expect((await server.admin.request("POST", `/api/projects/${projectId}/tasks`, { ref })).status).toBe(
        422,
      );
    for (const commit of ["HEAD", "--all", "abc", "0".repeat(40)])
      expect(
        (await server.admin.request("POST", `/api/projects/${projectId}/tasks`, { commit })).status,
      ).toBe(422);
  });
});

describe("a repository that asks for a credential", () => {
  test("gets the project's token, which appears on no command line and in no log", async () => {
    const git = serveGit(dirname(repository.url), credential);
    const url = `${git.url}/shop.git`;
    const projectId = await server.project(url, { build: "cat app.txt; env | sort; git remote -v" });
    const refused = await server.reach((await server.run(projectId)).id, "failed");
    expect(refused.reason).toStartWith("git could not fetch main: ");
    await server.admin.expect(204, "PUT", `/api/projects/${projectId}/credential`, credential);
    const task = await server.reach((await server.run(projectId)).id, "success");
    const text = textOf(await server.log(task.id));
    expect(text).toContain("60");
    expect(text).not.toContain(credential.token);
    expect(git.requests.filter(({ authorized }) => authorized).length).toBeGreaterThan(0);
    const onDisk = Bun.spawnSync(["grep", "-rl", credential.token, server.dataDir]);
    expect(onDisk.stdout.toString()).toBe("");
    expect(readFileSync(join(server.dataDir, "runner/runner.log"), "utf8")).not.toContain(credential.token);
    git.stop();
  });

  test("gets the token also for a user name that git escapes", async () => {
    const ann = { ...credential, username: "ann+ci@example.com's (*!) ä" };
    const git = serveGit(dirname(repository.url), ann);
    const projectId = await server.project(`${git.url}/shop.git`, show);
    await server.admin.expect(204, "PUT", `/api/projects/${projectId}/credential`, ann);
    await server.reach((await server.run(projectId)).id, "success");
    git.stop();
  });

  test("on another host gets nothing: a redirect does not carry the token", async () => {
    const thief = serveGit(dirname(repository.url), { username: "x", token: "y" });
    const told: (string | null)[] = [];
    const redirecting = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch(request) {
        const { pathname, search } = new URL(request.url);
        told.push(request.headers.get("authorization"));
        return Response.redirect(`${thief.url}${pathname}${search}`, 302);
      },
    });
    const projectId = await server.project(`${redirecting.url.origin}/shop.git`, show);
    await server.admin.expect(204, "PUT", `/api/projects/${projectId}/credential`, credential);
    await server.reach((await server.run(projectId)).id, "failed");
    expect(thief.requests.length).toBeGreaterThan(0);
    expect(thief.requests.every(({ authorized }) => !authorized)).toBe(true);
    redirecting.stop(true);
    thief.stop();
  });
});

test("a submodule whose address carries the project's server as its user gets no credential", async () => {
  const git = serveGit(dirname(repository.url), credential);
  const asked: (string | null)[] = [];
  const thief = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      asked.push(request.headers.get("authorization"));
      return new Response("", { status: 401, headers: { "www-authenticate": 'Basic realm="git"' } });
    },
  });
  const outer = await makeRepository();
  // Git includes the address in its prompt: with this user name the prompt contains the address of the project's server.
  const user = encodeURIComponent(`x@${new URL(git.url).host}'`);
  const modules = `[submodule "lib"]\n\tpath = lib\n\turl = http://${user}@${thief.url.host}/lib.git\n`;
  await outer.push({ ".gitmodules": modules });
  await outer.git("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},lib`);
  await outer.git("commit", "-q", "-m", "A submodule");
  await outer.git("push", "-q", "origin", "HEAD:refs/heads/main");
  await outer.git("push", "-q", "--force", repository.url, "HEAD:refs/heads/thief");
  const projectId = await server.project(`${git.url}/shop.git`, show, {
    git: { url: `${git.url}/shop.git`, ref: "thief", submodules: true },
  });
  await server.admin.expect(204, "PUT", `/api/projects/${projectId}/credential`, credential);
  const task = await server.run(projectId);
  await server.reach(task.id, "failed");
  expect(asked.length).toBeGreaterThan(0);
  for (const sent of asked) expect(atob(sent?.split(" ")[1] ?? "")).not.toContain(credential.token);
  await thief.stop(true);
  git.stop();
});

describe("submodules", () => {
  test("are fetched only when the project asks for them", async () => {
    const inner = await makeRepository();
    await inner.push({ "inner.txt": "inner\n" });
    const outer = await makeRepository();
    await outer.push({ "app.txt": "outer\n" });
    await outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", inner.url, "lib");
    await outer.push({});
    const script = { build: "ls lib" };
    const without = await server.project(outer.url, script);
    expect(await built((await server.reach((await server.run(without)).id, "success")).id)).toEqual([]);
    const git = { url: outer.url, submodules: true };
    const withThem = await server.project(outer.url, script, { git });
    expect(await built((await server.reach((await server.run(withThem)).id, "success")).id)).toEqual([
      "inner.txt",
    ]);
  });
});
