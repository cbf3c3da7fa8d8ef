import { describe, expect, test } from "bun:test";
import { setUpDeploy } from "../support/deploy-setup.ts";

const { server, repository } = await setUpDeploy();

const states = (steps: { name: string; state: string; exitCode: number | null }[]) =>
  steps.map(({ name, state, exitCode }) => `${name} ${state} ${exitCode}`);

describe("a stage of several steps", () => {
  test("runs them one after the other in one workspace, each with its own state, times and lines", async () => {
    const projectId = await server.project(
      repository.url,
      {},
      {
        pipeline: {
          build: [
            { name: "test", script: 'echo "$CI_STAGE $CI_STEP" | tee out.txt' },
            { name: "skipped", script: " " },
            { name: "bundle", script: "cat out.txt" },
          ],
          deploy: [{ script: "echo one" }, { script: "echo two" }],
          start: [{ script: "echo started" }],
        },
      },
    );
    const { id, stages: planned } = await server.run(projectId);
    expect(planned.map(({ steps }) => steps.map(({ name }) => name))).toEqual([
      ["test", "bundle"],
      ["deploy-1", "deploy-2"],
      ["start"],
    ]);
    const task = await server.reach(id, "success");
    expect(states(task.stages)).toEqual(["build success 0", "deploy success 0", "start success 0"]);
    const [build] = task.stages;
    expect(states(build?.steps ?? [])).toEqual(["test success 0", "bundle success 0"]);
    const times = build?.steps.flatMap(({ startedAt, finishedAt }) => [startedAt, finishedAt]) ?? [];
    expect(times).toEqual(times.toSorted());
    expect([build?.startedAt, build?.finishedAt]).toEqual([times[0] ?? "", times[3] ?? ""]);
    const lines = (await server.log(id)).filter(({ text }) => !text.startsWith("["));
    expect(lines.slice(2).map(({ stage, step, text }) => `${stage} ${step}: ${text}`)).toEqual([
      "build test: build test",
      "build bundle: build test",
      "deploy deploy-1: one",
      "deploy deploy-2: two",
      "start start: started",
    ]);
    expect(lines[0]).toMatchObject({ stage: "checkout", step: null });
  });

  test("ends with the step that fails; the reason names it, and later ones are skipped", async () => {
    const projectId = await server.project(
      repository.url,
      {},
      {
        pipeline: {
          build: [
            { name: "test", script: "true" },
            { name: "lint", script: "exit 3" },
            { script: "echo never" },
          ],
          deploy: [{ script: "echo never" }],
        },
      },
    );
    const task = await server.reach((await server.run(projectId)).id, "failed");
    expect(task.reason).toBe("build/lint failed with exit code 3");
    const [build, deploy] = task.stages;
    expect(build).toMatchObject({ state: "failed", exitCode: 3 });
    expect(states(build?.steps ?? [])).toEqual(["test success 0", "lint failed 3", "build-3 skipped null"]);
    expect(states(deploy?.steps ?? [])).toEqual(["deploy skipped null"]);
    expect((await server.log(task.id)).map(({ text }) => text)).not.toContain("never");
  });

  test("has a time limit for each step", async () => {
    const projectId = await server.project(
      repository.url,
      {},
      {
        pipeline: {
          build: [
            { script: "sleep 2", timeout: 60 },
            { script: "sleep 60", timeout: 1 },
          ],
        },
      },
    );
    const task = await server.reach((await server.run(projectId)).id, "timeout");
    expect(task.reason).toBe("build/build-2 ran longer than 1 s");
    expect(task.stages[0]?.steps.map(({ state }) => state)).toEqual(["success", "timeout"]);
  });

  test("`actions` and `fromStage` skip whole stages", async () => {
    const steps = [{ script: "echo one" }, { script: "echo two" }];
    const projectId = await server.project(repository.url, {}, { pipeline: { build: steps, deploy: steps } });
    const { id } = await server.run(projectId, { actions: { fromStage: "deploy" } });
    const task = await server.reach(id, "success");
    expect(task.stages.map(({ state, steps }) => [state, ...steps.map((step) => step.state)])).toEqual([
      ["skipped", "skipped", "skipped"],
      ["success", "success", "success"],
      ["skipped"],
    ]);
  });
});

test("a task that waits runs the steps that the project has when a runner takes it", async () => {
  const projectId = await server.project(repository.url, { build: "sleep 3" });
  const first = await server.run(projectId);
  const second = await server.run(projectId);
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
    pipeline: { build: [{ name: "new", script: "echo new" }] },
  });
  await server.reach(first.id, "success");
  const task = await server.reach(second.id, "success");
  expect(states(task.stages[0]?.steps ?? [])).toEqual(["new success 0"]);
});
