import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { sampleInstruction, startFakeServer } from "../support/fake-server.ts";
import { lfsPointer, serveLfs } from "../support/lfs-server.ts";
import { installPackages } from "../support/service-install.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestRunner } from "../support/test-runner.ts";

const isInstalled = Bun.which("git-lfs") !== null || (await installPackages("git-lfs"));
const { server, repository } = await setUpDeploy();
const credential = { type: "token", username: "deployer", token: "lfs-token-123456" };
const content = "the large file, which is not in git\n";
const lfs = serveLfs(dirname(repository.url), credential, [content]);
afterAll(() => lfs.stop());
await repository.push({
  ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
  "large.bin": lfsPointer(content),
});
const url = `${lfs.url}/shop.git`;

async function builtOutput(git: object): Promise<{ state: string; texts: string[]; reason: string }> {
  const build = "cat large.bin; git status --short";
  const projectId = await server.project(url, { build }, { git: { url, ...git } });
  await server.admin.expect(204, "PUT", `/api/projects/${projectId}/credential`, credential);
  const task = await server.reach((await server.run(projectId)).id, "success", "failed");
  const lines = (await server.log(task.id)).filter(({ stage }) => stage === "build");
  return { state: task.state, reason: task.reason, texts: lines.map(({ text }) => text) };
}

describe.skipIf(!isInstalled)("files of Git LFS in a private repository", () => {
  test("are fetched with the credential of the project, which the script does not get", async () => {
    const built = await builtOutput({ lfs: true });
    expect(built).toEqual({ state: "success", reason: "", texts: [content.trim()] });
    expect(lfs.asked.some(({ isAuthorized }) => isAuthorized)).toBe(true);
  });

  test("stay pointers without the setting", async () => {
    expect((await builtOutput({})).texts[0]).toStartWith("version https://git-lfs");
  });

  test("come from the project's own repository only, whatever .lfsconfig says", async () => {
    lfs.asked.length = 0;
    const elsewhere = `${lfs.url}/other.git/info/lfs`;
    await repository.push({
      ".lfsconfig": `[lfs]\n\turl = ${elsewhere}\n[remote "origin"]\n\tlfsurl = ${elsewhere}\n`,
    });
    expect((await builtOutput({ lfs: true })).texts).toEqual([content.trim()]);
    expect(lfs.asked.length).toBeGreaterThan(0);
    expect(lfs.asked.filter(({ path }) => path.includes("other.git"))).toEqual([]);
  });

  test("that the host does not have fail the task with the reason of git-lfs", async () => {
    await repository.push({ "gone.bin": lfsPointer("gone for ever\n") });
    const { state, reason } = await builtOutput({ lfs: true });
    expect(state).toBe("failed");
    expect(reason).toStartWith("The files of Git LFS could not be fetched: ");
    expect(reason).toContain("Object does not exist");
  });
});

test("a runner without git-lfs says which package it needs", async () => {
  const root = temporaryFolder("lfs");
  const path = temporaryFolder("path");
  for (const name of ["git", "sh"]) symlinkSync(Bun.which(name) ?? "", join(path, name));
  const fake = startFakeServer();
  const runner = startTestRunner(fake.url, root, { env: { PATH: path } });
  const sample = sampleInstruction(repository.url, { build: "true" });
  fake.instructions.push({ ...sample, repo: { ...sample.repo, lfs: true } });
  await eventually("the task is finished", () => fake.finished.length > 0);
  expect(fake.finished[0]).toMatchObject({ state: "failed" });
  expect(fake.finished[0]?.reason).toContain("install the package git-lfs");
  runner.abandon.abort();
  await runner.done;
  fake.stop();
  for (const folder of [root, path]) rmSync(folder, { recursive: true, force: true });
});
