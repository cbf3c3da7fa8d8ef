import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { isAlive } from "../support/process-watch.ts";
import { answerOf, type ReleaseAnswer } from "../support/release-scene.ts";
import { setUpReleases } from "../support/releases-setup.ts";

const { server, gitUrl, newPort, serviceProject, change, read, rollback, deploy } = await setUpReleases();

const releasesOf = async (projectId: number) =>
  (await server.admin.expect<{ items: ReleaseAnswer[] }>(200, "GET", `/api/projects/${projectId}/releases`))
    .items;

describe("a rollback by hand", () => {
  test("of a kept release needs no build, and takes as long as the service takes to start", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    await change(projectId, { pipeline: { build: [{ script: "sleep 2; cp server.js built.js" }] } });
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
    await change(projectId, { env: { LISTEN: String(port), NEW: "1" } });
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

  test("to the release that serves starts its service once more, with the secrets of today", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const secret = (value: string) =>
      server.admin.expect(204, "PUT", `/api/projects/${projectId}/secrets/TOKEN`, { value });
    await secret("old-secret");
    const { task, commit } = await deploy(projectId, "success");
    const before = await answerOf(port);
    expect(before.secret).toBe("old-secret");
    await secret("new-secret");
    const { id } = await rollback(projectId, { taskId: task.id });
    await server.reach(id, "success");
    expect(await answerOf(port)).toMatchObject({ commit, secret: "new-secret" });
    expect(isAlive(before.pid)).toBe(false);
    expect(await read(projectId)).toMatchObject({ liveTaskId: id, liveNote: "" });
  });

  test("of a release with services runs no deploy step again, except those marked with onRollback", async () => {
    const port = newPort();
    const record = join(server.scratch, `steps-${port}`);
    const step = (name: string, more = {}) => ({
      ...{ name, script: `echo "${name} \${CI_ROLLBACK:-} $CI_COMMIT" >>${record}`, ...more },
    });
    const projectId = await serviceProject(port);
    await change(projectId, {
      pipeline: {
        deploy: [step("migrate"), step("warm", { onRollback: true }), step("never", { once: true })],
      },
    });
    const first = await deploy(projectId, "success");
    await deploy(projectId, "success");
    rmSync(record);
    await server.reach((await rollback(projectId)).id, "success");
    expect(await Bun.file(record).text()).toBe(`warm true ${first.commit}\n`);
    expect((await answerOf(port)).commit).toBe(first.commit);
  });

  test("of a release without services runs its steps again, except those marked with once", async () => {
    const record = join(server.scratch, "site-steps");
    const step = (name: string, more = {}) => ({ name, script: `echo ${name} >>${record}`, ...more });
    const projectId = await server.project(
      gitUrl,
      {},
      { pipeline: { deploy: [step("copy"), step("migrate", { once: true })], start: [step("reload")] } },
    );
    await deploy(projectId, "success");
    await deploy(projectId, "success");
    rmSync(record);
    await server.reach((await rollback(projectId)).id, "success");
    expect(await Bun.file(record).text()).toBe("copy\nreload\n");
  });

  test("a service that is killed is not live until it serves again", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const { task } = await deploy(projectId, "success");
    const { pid } = await answerOf(port);
    process.kill(pid, "SIGKILL");
    await eventually("the end is seen", async () => (await read(projectId)).liveTaskId === null);
    expect((await read(projectId)).liveNote).toContain("The service web");
    await eventually("it serves again", async () => (await read(projectId)).liveTaskId === task.id);
    expect((await answerOf(port)).pid).not.toBe(pid);
  });
});
