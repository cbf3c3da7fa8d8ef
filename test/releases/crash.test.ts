import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { endScriptsIn, isAlive } from "../support/process-watch.ts";
import { answerOf, endListeners, type ProjectAnswer, service } from "../support/release-scene.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { runnerFolderOf, scratchOf, temporaryFolder } from "../support/temporary-folder.ts";

/** A task whose runner was killed ends after this time. */
const settings = { "tasks-lease": "12s" };
/** The runner ends a task after three quarters of this without a server, so a restart of the server must take less. */
const patient = { "tasks-lease": "60s" };
let dataDir: string;
let repository: GitRepository;
let server: ServerProcess;
const port = freePort();
const slow = join(tmpdir(), `slipway-slow-${process.pid}`);

beforeAll(async () => {
  dataDir = temporaryFolder("crash");
  repository = await makeRepository();
  await repository.push({ "server.js": service });
  server = await startServerProcess(dataDir, settings);
});
afterAll(async () => {
  await server.end("SIGTERM");
  endScriptsIn(runnerFolderOf(dataDir));
  rmSync(slow, { force: true });
});

const read = (id: number) => server.admin.expect<ProjectAnswer>(200, "GET", `/api/projects/${id}`);

/** Its start takes long while the file is there. */
function project(): Promise<number> {
  const script = `echo starting; while [ -f ${slow} ]; do sleep 0.05; done; node server.js &`;
  const healthCheck = { type: "http", url: `http://127.0.0.1:${port}/`, timeoutSeconds: 10 };
  const env = { LISTEN: String(port) };
  return server.project(repository.url, {}, { stages: { start: { script, healthCheck } }, env });
}

describe("kill -9", () => {
  test("of the runner after stop-first has ended the previous service: nothing is called live until a rollback", async () => {
    const projectId = await project();
    const first = await server.reach((await server.run(projectId)).id, "success");
    await Bun.write(slow, "");
    await repository.push({}, { message: "second" });
    const { id } = await server.run(projectId);
    await server.logged(id, "starting");
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    const runner = server.runnerPid();
    process.kill(runner, "SIGKILL");
    await server.reach(id, "lost");
    await eventually("another runner runs", () => server.runnerPid() !== runner);
    expect((await read(projectId)).liveNote).toContain("nothing is known to be serving");
    expect(await answerOf(port).catch(() => null)).toBeNull();
    rmSync(slow);
    const path = `/api/projects/${projectId}/rollback`;
    const back = await server.admin.expect<{ id: number }>(201, "POST", path, {});
    await server.reach(back.id, "success");
    expect((await answerOf(port)).commit).toBe(first.commit ?? "");
    expect(await read(projectId)).toMatchObject({ liveTaskId: back.id });
    await endListeners(port);
  });

  test("of the runner during the first start: the project stays with it, because a service may run there", async () => {
    const projectId = await project();
    await Bun.write(slow, "");
    const { id } = await server.run(projectId);
    await server.logged(id, "starting");
    process.kill(server.runnerPid(), "SIGKILL");
    const { runnerId } = await server.reach(id, "lost");
    rmSync(slow);
    expect(await read(projectId)).toMatchObject({ liveTaskId: null, homeRunnerId: runnerId });
    await server.reach((await server.run(projectId)).id, "success");
    await endListeners(port);
  });

  test("of the runner during the switch of stop-after-healthy: nothing is called live, and a rollback ends both services", async () => {
    const upstream = join(scratchOf(dataDir), "upstream");
    const served = async () => answerOf(Number(await Bun.file(upstream).text()));
    const switchTo = `echo "$PORT" >${upstream}; echo proxy-moved; while [ -f ${slow} ]; do sleep 0.05; done`;
    const healthCheck = { type: "http", url: "http://127.0.0.1:$PORT/", timeoutSeconds: 10 };
    const start = {
      script: "LISTEN=$PORT node server.js &",
      previous: "stop-after-healthy",
      switch: switchTo,
      healthCheck,
    };
    const projectId = await server.project(repository.url, {}, { stages: { start } });
    const first = await server.reach((await server.run(projectId)).id, "success");
    const before = await served();
    await Bun.write(slow, "");
    const second = await repository.push({}, { message: "switched to" });
    const { id } = await server.run(projectId);
    await server.logged(id, "proxy-moved");
    const during = await served();
    expect(during.commit).toBe(second);
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    const runner = server.runnerPid();
    process.kill(runner, "SIGKILL");
    await server.reach(id, "lost");
    await eventually("another runner runs", () => server.runnerPid() !== runner);
    // The proxy may point to either service, so no commit is called live. The new one is not left without a guard.
    await eventually("the new service has ended", () => !isAlive(during.pid));
    expect(isAlive(before.pid)).toBeTrue();
    const lost = await read(projectId);
    expect(lost.liveTaskId).toBeNull();
    expect(lost.liveNote).toContain("nothing is known to be serving");
    rmSync(slow);
    const path = `/api/projects/${projectId}/rollback`;
    const back = await server.admin.expect<{ id: number }>(201, "POST", path, {});
    await server.reach(back.id, "success");
    const after = await served();
    expect(after.commit).toBe(first.commit ?? "");
    expect(isAlive(before.pid)).toBeFalse();
    expect(await read(projectId)).toMatchObject({ liveTaskId: back.id });
    process.kill(after.pid, "SIGKILL");
  });
});

describe("kill -9 of a server with a longer lease", () => {
  beforeAll(async () => {
    await server.end("SIGTERM");
    server = await startServerProcess(dataDir, patient);
  });

  test("during the switch: the runner goes on, and the new commit is live", async () => {
    const upstream = join(scratchOf(dataDir), "upstream-2");
    const start = {
      script: "LISTEN=$PORT node server.js &",
      previous: "stop-after-healthy",
      switch: `echo "$PORT" >${upstream}; echo proxy-moved; while [ -f ${slow} ]; do sleep 0.05; done`,
      healthCheck: { type: "http", url: "http://127.0.0.1:$PORT/", timeoutSeconds: 10 },
    };
    const served = async () => answerOf(Number(await Bun.file(upstream).text()));
    const projectId = await server.project(repository.url, {}, { stages: { start } });
    await server.reach((await server.run(projectId)).id, "success");
    const before = await served();
    await Bun.write(slow, "");
    const second = await repository.push({}, { message: "while the server is away" });
    const { id } = await server.run(projectId);
    await server.logged(id, "proxy-moved");
    await server.end("SIGKILL");
    server = await startServerProcess(dataDir, patient);
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    rmSync(slow);
    await server.reach(id, "success");
    const after = await served();
    expect(after.commit).toBe(second);
    expect(isAlive(before.pid)).toBeFalse();
    expect(await read(projectId)).toMatchObject({ liveTaskId: id });
    process.kill(after.pid, "SIGKILL");
  });

  test("during a rollback: it names the old commit only when that serves again", async () => {
    const projectId = await project();
    const first = await server.reach((await server.run(projectId)).id, "success");
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      stages: { start: { script: "exit 1" } },
    });
    await Bun.write(slow, "");
    await repository.push({}, { message: "third" });
    const { id } = await server.run(projectId);
    await eventually("it rolls back", async () => (await server.task(id)).rollback?.state === "running");
    await server.end("SIGKILL");
    server = await startServerProcess(dataDir, patient);
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    rmSync(slow);
    const task = await server.reach(id, "failed");
    expect(task.reason).toContain("is serving again");
    expect((await answerOf(port)).commit).toBe(first.commit ?? "");
    expect(await read(projectId)).toMatchObject({ liveTaskId: first.id });
  });
});
