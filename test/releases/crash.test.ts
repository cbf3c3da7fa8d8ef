import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { endScriptsIn, isAlive } from "../support/process-watch.ts";
import { answerOf, type ProjectAnswer, service } from "../support/release-scene.ts";
import { webBeside, webOn } from "../support/releases-setup.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { runnerFolderOf, scratchOf, temporaryFolder } from "../support/temporary-folder.ts";

/** A task whose runner was killed ends after this time. */
const settings = { "tasks-lease": "12s" };
/** The runner ends a task after three quarters of this without a server, so a restart of the server must take less. */
const patient = { "tasks-lease": "60s" };
const dataDir = temporaryFolder("crash");
const scratch = scratchOf(dataDir);
const slow = join(scratch, "slow");
const isLong = `while [ -f ${slow} ]; do sleep 0.05; done`;
let repository: GitRepository;
let server: ServerProcess;

beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "server.js": service });
  server = await startServerProcess(dataDir, settings);
});
afterAll(async () => {
  await server.end("SIGINT");
  endScriptsIn(runnerFolderOf(dataDir));
});

const read = (id: number) => server.admin.expect<ProjectAnswer>(200, "GET", `/api/projects/${id}`);

/** On a fixed port. Its start takes long while the file is there. */
function fixedProject(port: number): Promise<number> {
  const command = `echo starting; ${isLong}; LISTEN=${port} exec node server.js`;
  const web = webOn(port, { command, check: { http: "/", within: 60 } });
  return server.project(repository.url, {}, { pipeline: { start: { web } } });
}

/** Started beside the earlier one. Its switch takes long while the file is there. */
function besideProject(upstream: string): Promise<number> {
  const web = webBeside({ switch: `echo "$PORT" >${upstream}; echo proxy-moved; ${isLong}` });
  return server.project(repository.url, {}, { pipeline: { start: { web } } });
}

async function killRunner(): Promise<void> {
  const runner = server.runnerPid();
  process.kill(runner, "SIGKILL");
  await eventually("another runner runs", () => server.runnerPid() !== runner);
}

/** The project names this task as live again, by the reports of the runner. */
const isLive = (projectId: number, taskId: number) =>
  eventually(`task ${taskId} is live`, async () => (await read(projectId)).liveTaskId === taskId);

describe("kill -9 of the runner", () => {
  test("after the previous service on a fixed port has ended: the next runner starts it again", async () => {
    const port = freePort();
    const projectId = await fixedProject(port);
    const first = await server.reach((await server.run(projectId)).id, "success");
    const before = await answerOf(port);
    await Bun.write(slow, "");
    await repository.push({}, { message: "second" });
    const { id } = await server.run(projectId);
    await server.logged(id, "starting");
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    expect(isAlive(before.pid)).toBeFalse();
    rmSync(slow);
    await killRunner();
    await server.reach(id, "lost");
    await isLive(projectId, first.id);
    expect((await answerOf(port)).commit).toBe(first.commit ?? "");
  });

  test("during the first start: the project stays with it, and the next deploy replaces what was started", async () => {
    const port = freePort();
    const projectId = await fixedProject(port);
    await Bun.write(slow, "");
    const { id } = await server.run(projectId);
    await server.logged(id, "starting");
    await killRunner();
    const { runnerId } = await server.reach(id, "lost");
    rmSync(slow);
    expect(await read(projectId)).toMatchObject({ liveTaskId: null, homeRunnerId: runnerId });
    const commit = await repository.push({}, { message: "again" });
    await server.reach((await server.run(projectId)).id, "success");
    expect((await answerOf(port)).commit).toBe(commit);
  });

  test("during the switch: the proxy asks the earlier service again, which was never touched, and the new one ends", async () => {
    const upstream = join(scratch, "upstream");
    const served = async () => answerOf(Number(await Bun.file(upstream).text()));
    const projectId = await besideProject(upstream);
    const first = await server.reach((await server.run(projectId)).id, "success");
    const before = await served();
    await Bun.write(slow, "");
    const second = await repository.push({}, { message: "switched to" });
    const { id } = await server.run(projectId);
    await server.logged(id, "proxy-moved");
    const during = await served();
    expect(during.commit).toBe(second);
    await killRunner();
    await server.reach(id, "lost");
    rmSync(slow);
    await eventually("the new service has ended", () => !isAlive(during.pid));
    expect(isAlive(before.pid)).toBeTrue();
    await isLive(projectId, first.id);
    expect(await served()).toMatchObject({ pid: before.pid });
    const path = `/api/projects/${projectId}/rollback`;
    const back = await server.admin.expect<{ id: number }>(201, "POST", path, { taskId: first.id });
    await server.reach(back.id, "success");
    expect((await served()).commit).toBe(first.commit ?? "");
    await eventually("the earlier service has ended", () => !isAlive(before.pid));
    await isLive(projectId, back.id);
  });
});

describe("kill -9 of a server with a longer lease", () => {
  beforeAll(async () => {
    await server.end("SIGTERM");
    server = await startServerProcess(dataDir, patient);
  });

  test("during the switch: the runner goes on, and the new commit is live", async () => {
    const upstream = join(scratch, "upstream-2");
    const served = async () => answerOf(Number(await Bun.file(upstream).text()));
    const projectId = await besideProject(upstream);
    await server.reach((await server.run(projectId)).id, "success");
    const before = await served();
    await Bun.write(slow, "");
    const second = await repository.push({}, { message: "while the server is away" });
    const { id } = await server.run(projectId);
    await server.logged(id, "proxy-moved");
    await server.end("SIGKILL");
    server = await startServerProcess(dataDir, patient);
    rmSync(slow);
    await server.reach(id, "success");
    expect((await served()).commit).toBe(second);
    await eventually("the earlier service has ended", () => !isAlive(before.pid));
    await isLive(projectId, id);
  });

  test("during the return to the earlier service: its commit is live only when it serves again", async () => {
    const port = freePort();
    const projectId = await fixedProject(port);
    const first = await server.reach((await server.run(projectId)).id, "success");
    // Once: it may be started again before the runner has seen its end, and must not hold the earlier one up after that.
    const web = webOn(port, { command: `[ -e ${slow}-once ] || touch ${slow} ${slow}-once; exit 1` });
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { pipeline: { start: { web } } });
    await repository.push({}, { message: "third" });
    const { id } = await server.run(projectId);
    await eventually(
      "the earlier one has ended",
      async () => (await answerOf(port).catch(() => null)) === null,
    );
    await eventually("the new one has failed", () => Bun.file(slow).exists());
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
