import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { isAlive } from "../support/process-watch.ts";
import { answerOf, type ReleaseAnswer } from "../support/release-scene.ts";
import { httpCheck, setUpReleases } from "../support/releases-setup.ts";

const { server, newPort, serviceProject, read, rollback, deploy } = await setUpReleases();

const releasesOf = async (projectId: number) =>
  (await server.admin.expect<{ items: ReleaseAnswer[] }>(200, "GET", `/api/projects/${projectId}/releases`))
    .items;

describe("a rollback by hand", () => {
  test("of a kept release needs no build, and takes as long as the service takes to start", async () => {
    const port = newPort();
    const projectId = await serviceProject(port, {
      stages: {
        build: { script: "sleep 2; cp server.js built.js" },
        start: { script: "node built.js &", healthCheck: httpCheck(port) },
      },
    });
    const first = await deploy(projectId, "success");
    const deployedAt = performance.now();
    const second = await deploy(projectId, "success");
    const deployMs = performance.now() - deployedAt;
    expect(await releasesOf(projectId)).toMatchObject([
      { taskId: second.task.id, isLive: true, isNext: false, isKept: true },
      { taskId: first.task.id, isLive: false, isNext: true, isKept: true },
    ]);
    for (const { bytes } of await releasesOf(projectId)) expect(bytes).toBeGreaterThan(1000);
    const old = await answerOf(port);
    const clickedAt = performance.now();
    const { id } = await rollback(projectId);
    const task = await server.reach(id, "success");
    const clickMs = performance.now() - clickedAt;
    expect(task).toMatchObject({ rollbackTo: first.task.id, commit: first.commit });
    expect(task.stages.map(({ name, state }) => `${name} ${state}`)).toEqual([
      "build skipped",
      "deploy skipped",
      "start success",
    ]);
    expect((await answerOf(port)).commit).toBe(first.commit);
    expect(isAlive(old.pid)).toBe(false);
    expect(await read(projectId)).toMatchObject({ liveTaskId: id });
    const start = task.stages.find(({ name }) => name === "start");
    const startMs = new Date(start?.finishedAt ?? 0).getTime() - new Date(start?.startedAt ?? 0).getTime();
    console.log(
      `rollback: ${Math.round(clickMs)} ms from click to healthy, of which start took ${startMs} ms`,
    );
    expect(clickMs).toBeLessThan(Math.max(startMs + 8_000, deployMs));
    expect(await releasesOf(projectId)).toMatchObject([
      { taskId: second.task.id, isLive: false },
      { taskId: first.task.id, isLive: true },
    ]);
  });

  test("of an older release, or of one whose workspace is lost, builds it again with its own scripts", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success");
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      env: { LISTEN: String(port), NEW: "1" },
    });
    for (let i = 0; i < 3; i++) await deploy(projectId, "success");
    const releases = await releasesOf(projectId);
    expect(releases.map(({ isKept }) => isKept)).toEqual([true, true, true, false]);
    const { id } = await rollback(projectId, { taskId: first.task.id });
    const task = await server.reach(id, "success");
    expect(task.stages[0]).toMatchObject({ name: "build", state: "success" });
    expect((await answerOf(port)).commit).toBe(first.commit);

    const folder = join(server.runnerDir, "releases", String(projectId));
    const kept = (await releasesOf(projectId)).find(({ isKept, isLive }) => isKept && !isLive);
    rmSync(join(folder, String(kept?.taskId)), { recursive: true });
    const again = await server.reach((await rollback(projectId, { taskId: kept?.taskId })).id, "success");
    expect(again.stages[0]).toMatchObject({ name: "build", state: "success" });
    expect((await answerOf(port)).commit).toBe(kept?.commit ?? "");
    const live = (await releasesOf(projectId)).find(({ isLive }) => isLive);
    expect(live).toMatchObject({ taskId: again.id, isKept: true });
    expect(readdirSync(folder)).toHaveLength(3);
    expect(existsSync(join(folder, String(again.id)))).toBe(true);
  });

  test("is refused where there is nothing to return to", async () => {
    const projectId = await serviceProject(newPort());
    const answer = await server.admin.request("POST", `/api/projects/${projectId}/rollback`, {});
    expect(answer.status).toBe(409);
    expect(String(answer.text)).toContain("has no earlier release to return to");
    const other = await server.admin.request("POST", `/api/projects/${projectId}/rollback`, {
      taskId: 999_999,
    });
    expect(other.status).toBe(409);
  });

  test("to the release that serves: its earlier process, which the runner has ended, is not reported as exited", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const { task } = await deploy(projectId, "success");
    const outputOf = (id: number) =>
      server.admin.expect<{ output: string; hasExited: boolean }>(200, "GET", `/api/tasks/${id}/output`);
    await eventually("the first one is watched", async () => (await outputOf(task.id)).output !== "");
    const { id } = await rollback(projectId, { taskId: task.id });
    await server.reach(id, "success");
    // Each look of the runner sends what is new, and looks at all services within the same time.
    for (const count of [2, 3, 4]) {
      await answerOf(port);
      await eventually("it is watched", async () => (await outputOf(id)).output.includes(`request ${count}`));
    }
    expect((await outputOf(task.id)).hasExited).toBe(false);
    expect(await read(projectId)).toMatchObject({ liveTaskId: id, liveNote: "" });
  });

  test("the first minute of output is shown, and a service that exits in it is not live", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const { task } = await deploy(projectId, "success");
    const { pid } = await answerOf(port);
    const output = () =>
      server.admin.expect<{ output: string; hasExited: boolean }>(200, "GET", `/api/tasks/${task.id}/output`);
    await eventually("the output is shown", async () => (await output()).output.includes("request 1"));
    process.kill(pid, "SIGKILL");
    await eventually("the exit is seen", async () => (await output()).hasExited);
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    expect((await read(projectId)).liveNote).toContain("exited within a minute");
  });
});
