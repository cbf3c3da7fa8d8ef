import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type DeployServer, startDeployServer, textOf } from "../support/deploy-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";

let server: DeployServer;
let repository: GitRepository;
let commit: string;

beforeAll(async () => {
  repository = await makeRepository();
  commit = await repository.push({ "app.txt": "one\n" }, { message: "Sell apples\n\nAnd pears." });
  server = await startDeployServer();
}, 60_000);
afterAll(async () => {
  await server.stop();
  server.remove();
  repository.remove();
});

describe("a task runs its stages in one workspace", () => {
  test("build, deploy and start follow each other, and the log tells all of it in order", async () => {
    const projectId = await server.project(
      repository.url,
      { build: "cat app.txt; echo built >out.txt", deploy: "cat out.txt", start: 'echo "$CI_REF $CI_STAGE"' },
      { env: { GREETING: "hello" } },
    );
    const { id } = await server.run(projectId);
    const task = await server.reach(id, "success");
    expect(task).toMatchObject({ commit, message: "Sell apples\n\nAnd pears.", triggerType: "manual" });
    expect(task.stages.map(({ name, state, exitCode }) => `${name} ${state} ${exitCode}`)).toEqual([
      "build success 0",
      "deploy success 0",
      "start success 0",
    ]);
    const lines = await server.log(id);
    expect(lines.map((line) => line.index)).toEqual(lines.map((_, index) => index));
    expect(lines.map((line) => `${line.stage}: ${line.text}`)).toEqual([
      `checkout: fetching main of ${repository.url}`,
      `checkout: commit ${commit} Sell apples`,
      "build: one",
      "deploy: built",
      "start: refs/heads/main start",
    ]);
    const project = await server.admin.expect(200, "GET", `/api/projects/${projectId}`);
    expect(project).toMatchObject({ liveTaskId: id });
  });

  test("a script that fails ends the task, names its exit code, and later stages do not run", async () => {
    const projectId = await server.project(repository.url, {
      build: "echo a; false; echo b",
      deploy: "echo c",
    });
    const task = await server.reach((await server.run(projectId)).id, "failed");
    expect(task.reason).toBe("build failed with exit code 1");
    expect(task.stages.map(({ state }) => state)).toEqual(["failed", "skipped", "skipped"]);
    expect(textOf(await server.log(task.id))).not.toContain("c\n");
    const project = await server.admin.expect(200, "GET", `/api/projects/${projectId}`);
    expect(project).toMatchObject({ liveTaskId: null });
  });
});
