import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository, commit } = await setUpDeploy({}, "Sell apples\n\nAnd pears.");

describe("a task runs its stages in one workspace", () => {
  test("build, deploy and start follow each other, and the log has all output in order", async () => {
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
      expect.stringMatching(/^system: \[sealed: \d+ files, .* SHA-256 [0-9a-f]{64}, in .* s\]$/),
      "deploy: built",
      "start: refs/heads/main start",
    ]);
    const project = await server.admin.expect(200, "GET", `/api/projects/${projectId}`);
    expect(project).toMatchObject({ liveTaskId: id });
  });

  test("without a script there is nothing to run, and the log reports it", async () => {
    const projectId = await server.project(repository.url, {});
    const task = await server.reach((await server.run(projectId)).id, "success");
    expect(textOf(await server.log(task.id))).toContain("No stage has a script to run");
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

  test("a stage runs in the folder it names, by sh or by the program of its first line", async () => {
    await repository.push({ "services/shop/name.txt": "shop\n" });
    const stages = {
      build: { script: "cat name.txt", directory: "services/shop" },
      deploy: { script: "#!/usr/bin/env bash\n[[ -n $BASH_VERSION ]] && echo bash", directory: "services" },
      start: { script: "true", directory: "not/there" },
    };
    const projectId = await server.project(repository.url, {}, { stages });
    const task = await server.reach((await server.run(projectId)).id, "failed");
    const lines = await server.log(task.id);
    expect(lines.filter(({ stage }) => stage === "build").map(({ text }) => text)).toEqual(["shop"]);
    expect(lines.find(({ stage }) => stage === "deploy")?.text).toBe("bash");
    expect(task.reason).toBe("The folder not/there of start does not exist in the repository.");
    for (const directory of ["/etc", "../..", "a/../../b"])
      await server.admin.expect(422, "PATCH", `/api/projects/${projectId}`, {
        stages: { build: { directory } },
      });
  });

  test("a project without scripts only checks out, and actions choose the stages", async () => {
    const empty = await server.project(repository.url, {});
    await server.reach((await server.run(empty)).id, "success");
    const projectId = await server.project(repository.url, { build: "true", deploy: "true", start: "true" });
    const run = async (actions: object) =>
      (await server.reach((await server.run(projectId, { actions })).id, "success")).stages.map(
        ({ state }) => state,
      );
    expect(await run({ fromStage: "deploy" })).toEqual(["skipped", "success", "success"]);
    expect(await run({ build: true, deploy: false, start: false })).toEqual([
      "success",
      "skipped",
      "skipped",
    ]);
    const nothing = { actions: { build: false, deploy: false, start: false } };
    expect((await server.admin.request("POST", `/api/projects/${projectId}/tasks`, nothing)).status).toBe(
      422,
    );
  });

  test("workspaces go with their task; those of the last three successes stay", async () => {
    const projectId = await server.project(repository.url, { build: '[ "$CI_REF_NAME" = main ]' });
    await repository.push({}, { branch: "broken" });
    const kept = () => readdirSync(join(server.runnerDir, "releases", String(projectId)));
    const first = await server.reach((await server.run(projectId)).id, "success");
    expect(kept()).toEqual([String(first.id)]);
    await server.reach((await server.run(projectId, { ref: "broken" })).id, "failed");
    expect(kept()).toEqual([String(first.id)]);
    const second = await server.reach((await server.run(projectId)).id, "success");
    expect(kept().toSorted()).toEqual([String(first.id), String(second.id)].toSorted());
    for (let i = 0; i < 2; i++) await server.reach((await server.run(projectId)).id, "success");
    expect(kept()).toHaveLength(3);
    expect(kept()).not.toContain(String(first.id));
  });
});
