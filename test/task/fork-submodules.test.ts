import { afterAll, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { serveGit } from "../support/git-http-server.ts";
import { makeRepository } from "../support/git-repository.ts";

const { server, repository } = await setUpDeploy();
const credential = { type: "token", username: "deployer", token: "clone-token-123456" };
const root = dirname(repository.url);
const git = serveGit(root, credential);
afterAll(() => git.stop());

/** Another private repository of the same server, and a commit of the project's repository with it as a submodule. */
const other = await makeRepository();
const commit = await other.push({ "private.txt": "of another team\n" });
cpSync(other.url, join(root, "other.git"), { recursive: true });
await repository.push({
  ".gitmodules": `[submodule "lib"]\n\tpath = lib\n\turl = ${git.url}/other.git\n`,
});
await repository.git("update-index", "--add", "--cacheinfo", `160000,${commit},lib`);
await repository.git("commit", "-q", "-m", "A submodule");
await repository.git("push", "-q", "origin", "HEAD:refs/pull/1/head", "HEAD:refs/heads/with-submodule");

const url = `${git.url}/shop.git`;
const projectId = await server.project(
  url,
  { build: "cat lib/private.txt" },
  { git: { url, submodules: true } },
);
await server.admin.expect(204, "PUT", `/api/projects/${projectId}/credential`, credential);
const texts = async (id: number) => (await server.log(id)).map(({ text }) => text);
const askedOther = () => git.requests.filter(({ path }) => path.startsWith("/other.git"));

test("the build of a fork cannot read other repositories with the clone credential", async () => {
  const { id } = await server.run(projectId, { ref: "refs/pull/1/head" });
  const task = await server.reach(id, "failed");
  expect(task.reason).toStartWith(
    "The submodules of a fork, which gets no clone credential, could not be fetched",
  );
  expect(askedOther().length).toBeGreaterThan(0);
  expect(askedOther().filter(({ authorized }) => authorized)).toEqual([]);
  expect(await texts(id)).not.toContain("of another team");
});

test("a branch of the repository itself still gets its private submodules", async () => {
  const { id } = await server.run(projectId, { ref: "with-submodule" });
  await server.reach(id, "success");
  expect(await texts(id)).toContain("of another team");
});
