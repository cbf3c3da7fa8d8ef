import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type DeployServer, startDeployServer, textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { serveGit } from "../support/git-http-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { receiveNotifications } from "../support/notification-receiver.ts";
import { isAlive } from "../support/process-watch.ts";
import {
  answerOf,
  endListeners,
  type ProjectAnswer,
  type ReleaseAnswer,
  service,
} from "../support/release-scene.ts";

let server: DeployServer;
let repository: GitRepository;
let git: ReturnType<typeof serveGit>;
const notifications = receiveNotifications();
const ports: number[] = [];

beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "server.js": service });
  git = serveGit(repository.url.replace(/\/[^/]+$/, ""), null);
  server = await startDeployServer();
}, 60_000);
afterAll(async () => {
  await server.stop();
  server.remove();
  await git.stop();
  notifications.stop();
  repository.remove();
  for (const port of ports) await endListeners(port);
});

function newPort(): number {
  const port = freePort();
  ports.push(port);
  return port;
}

const http = (port: number, more = {}) => ({
  type: "http",
  url: `http://127.0.0.1:${port}/`,
  timeoutSeconds: 10,
  ...more,
});

test("a runner that cannot write down a started service ends it, and the previous release returns", async () => {
  const port = newPort();
  const projectId = await serviceProject(port);
  // The runner writes this file; where a folder has its name, that fails as on a full disk.
  const inTheWay = "$CI_WORKSPACE/../../services.json.new";
  const pidFile = join(server.dataDir, "started.pid");
  const patch = (script: string) =>
    server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { stages: { start: { script } } });
  await patch(`rm -rf "${inTheWay}"; node built.js &`);
  const first = await server.reach((await server.run(projectId)).id, "success");
  await patch(`mkdir "${inTheWay}"; node built.js & echo $! >${pidFile}`);
  await repository.push({}, { message: "not written down" });
  const task = await server.reach((await server.run(projectId)).id, "failed");
  expect(task.reason).toContain(`${first.commit?.slice(0, 7)} is serving again`);
  expect(isAlive(Number(await Bun.file(pidFile).text()))).toBeFalse();
  expect((await answerOf(port)).commit).toBe(first.commit ?? "");
}, 60_000);

async function serviceProject(port: number, more: Record<string, unknown> = {}): Promise<number> {
  return server.project(
    `${git.url}/shop.git`,
    {},
    {
      stages: {
        build: { script: "cp server.js built.js; echo built" },
        start: { script: "node built.js &", healthCheck: http(port) },
      },
      env: { LISTEN: String(port) },
      notify: [{ url: notifications.url, events: ["task.failed", "task.succeeded"] }],
      ...more,
    },
  );
}

const read = (projectId: number) =>
  server.admin.expect<ProjectAnswer>(200, "GET", `/api/projects/${projectId}`);
const releasesOf = async (projectId: number) =>
  (await server.admin.expect<{ items: ReleaseAnswer[] }>(200, "GET", `/api/projects/${projectId}/releases`))
    .items;
const rollback = (projectId: number, body = {}) =>
  server.admin.expect<{ id: number }>(201, "POST", `/api/projects/${projectId}/rollback`, body);

/** Pushes a commit and runs it. */
async function deploy(projectId: number, state: "success" | "failed", message = "a change") {
  const commit = await repository.push({}, { message });
  const task = await server.reach((await server.run(projectId)).id, state);
  return { commit, short: commit.slice(0, 7), task };
}

describe("the previous release comes back by itself", () => {
  test("when the new service dies, its health check fails or its deploy fails", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success");
    const failures = {
      "a start that dies": { start: { script: "node -e 'throw new Error(1)' &" } },
      "a failing check": { start: { healthCheck: http(port, { expect: "never", timeoutSeconds: 1 }) } },
      "a failing deploy": { deploy: { script: "echo half done; exit 3" } },
    };
    for (const [name, stages] of Object.entries(failures)) {
      const before = (await read(projectId)).stages;
      await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { stages });
      const second = await deploy(projectId, "failed", name);
      const said = `${second.short} failed; ${first.short} is serving again.`;
      expect(second.task.reason, name).toStartWith(said);
      expect(second.task.rollback, name).toMatchObject({ state: "success", taskId: first.task.id });
      expect(await read(projectId), name).toMatchObject({ liveTaskId: first.task.id, liveNote: said });
      expect((await answerOf(port)).commit, name).toBe(first.commit);
      const { body } = await notifications.event(second.task.id, "task.failed");
      expect(body, name).toContain(said);
      const { build: _, ...changed } = before;
      await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
        stages: { deploy: { script: "" }, start: pick(changed.start) },
      });
    }
  }, 90_000);

  test("with its own scripts and environment, and the secrets of today", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const secret = (value: string) =>
      server.admin.expect(204, "PUT", `/api/projects/${projectId}/secrets/TOKEN`, { value });
    await secret("old-secret");
    const first = await deploy(projectId, "success");
    await secret("new-secret");
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      env: { LISTEN: "1" },
      stages: { start: { script: "exit 1" } },
    });
    const second = await deploy(projectId, "failed");
    expect(second.task.reason).toContain(`${first.short} is serving again`);
    expect(await answerOf(port)).toMatchObject({ commit: first.commit, secret: "new-secret" });
  }, 60_000);

  test("a rollback that fails is reported and not repeated, and nothing is called live", async () => {
    const port = newPort();
    const broken = `/tmp/slipway-broken-${port}`;
    const projectId = await serviceProject(port, {
      stages: { start: { script: `[ ! -f ${broken} ]; node server.js &`, healthCheck: http(port) } },
    });
    const first = await deploy(projectId, "success");
    await Bun.write(broken, "");
    const second = await deploy(projectId, "failed");
    expect(second.task.reason).toStartWith(
      `${second.short} failed, and so did the rollback to ${first.short}: start failed with exit code 1. Nothing is known to be serving.`,
    );
    expect(second.task.rollback).toMatchObject({ state: "failed" });
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    await expect(answerOf(port)).rejects.toThrow();
    const starts = textOf(await server.log(second.task.id)).match(/rolling back/gi) ?? [];
    expect(starts).toHaveLength(1);
    rmSync(broken);
    const back = await rollback(projectId);
    await server.reach(back.id, "success");
    expect((await answerOf(port)).commit).toBe(first.commit);
    expect(await read(projectId)).toMatchObject({ liveTaskId: back.id, liveNote: "" });
  }, 60_000);

  test("not where it is off, and a failed build changes nothing", async () => {
    const port = newPort();
    const projectId = await serviceProject(port, { rollback: "off" });
    const first = await deploy(projectId, "success");
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      stages: { build: { script: "exit 1" } },
    });
    await deploy(projectId, "failed");
    expect(await read(projectId)).toMatchObject({ liveTaskId: first.task.id });
    expect((await answerOf(port)).commit).toBe(first.commit);
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      stages: { build: { script: "true" }, start: { script: "exit 1" } },
    });
    const third = await deploy(projectId, "failed");
    expect(third.task.rollback).toBeNull();
    expect(await read(projectId)).toMatchObject({ liveTaskId: null });
    expect((await read(projectId)).liveNote).toContain("nothing is known to be serving");
  }, 60_000);

  test("a deploy whose script never ran leaves the previous release alone", async () => {
    const port = newPort();
    const record = join(server.dataDir, `deployed-${port}.txt`);
    const projectId = await serviceProject(port, {
      stages: {
        build: { script: "cp server.js built.js" },
        deploy: { script: `echo "$CI_COMMIT" >>${record}` },
        start: { script: "node built.js &", healthCheck: http(port) },
      },
    });
    const first = await deploy(projectId, "success");
    const before = await answerOf(port);
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      stages: { deploy: { directory: "not-there" } },
    });
    const second = await deploy(projectId, "failed");
    expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} is still serving.`);
    expect(second.task.reason).toContain("The folder not-there of deploy does not exist");
    expect(await Bun.file(record).text()).toBe(`${first.commit}\n`);
    expect((await answerOf(port)).pid).toBe(before.pid);
    expect(await read(projectId)).toMatchObject({ liveTaskId: first.task.id });
  }, 60_000);

  test("in stop-after-healthy the previous service never stops", async () => {
    const port = newPort();
    const projectId = await server.project(
      `${git.url}/shop.git`,
      {},
      {
        stages: {
          start: {
            script: `LISTEN=$PORT node server.js & echo "$PORT" >/tmp/slipway-port-${port}`,
            previous: "stop-after-healthy",
            healthCheck: { type: "http", url: "http://127.0.0.1:$PORT/", timeoutSeconds: 5 },
          },
        },
      },
    );
    const first = await deploy(projectId, "success");
    const at = Number(await Bun.file(`/tmp/slipway-port-${port}`).text());
    const before = await answerOf(at);
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      stages: { start: { script: "exit 9" } },
    });
    const second = await deploy(projectId, "failed");
    expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} is still serving.`);
    expect(await answerOf(at)).toMatchObject({ commit: first.commit, pid: before.pid });
    expect(await read(projectId)).toMatchObject({ liveTaskId: first.task.id });
    process.kill(before.pid);
    rmSync(`/tmp/slipway-port-${port}`);
  }, 60_000);
});

describe("a rollback by hand", () => {
  test("of a kept release needs no build, and takes as long as the service takes to start", async () => {
    const port = newPort();
    const projectId = await serviceProject(port, {
      stages: {
        build: { script: "sleep 2; cp server.js built.js" },
        start: { script: "node built.js &", healthCheck: http(port) },
      },
    });
    const first = await deploy(projectId, "success");
    const deployedAt = performance.now();
    const second = await deploy(projectId, "success");
    const deployMs = performance.now() - deployedAt;
    expect(await releasesOf(projectId)).toMatchObject([
      { taskId: second.task.id, isLive: true, isKept: true },
      { taskId: first.task.id, isLive: false, isKept: true },
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
    expect(clickMs).toBeLessThan(Math.max(startMs + 2_000, deployMs));
    expect(await releasesOf(projectId)).toMatchObject([
      { taskId: first.task.id, isLive: true },
      { taskId: second.task.id, isLive: false },
    ]);
  }, 90_000);

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

    const folder = join(server.dataDir, "runner/work", `project-${projectId}`);
    const kept = (await releasesOf(projectId)).find(({ isKept, isLive }) => isKept && !isLive);
    rmSync(join(folder, `task-${kept?.taskId}-1`), { recursive: true });
    const again = await server.reach((await rollback(projectId, { taskId: kept?.taskId })).id, "success");
    expect(again.stages[0]).toMatchObject({ name: "build", state: "success" });
    expect((await answerOf(port)).commit).toBe(kept?.commit ?? "");
    expect((await releasesOf(projectId))[0]).toMatchObject({ taskId: again.id, isLive: true, isKept: true });
    expect(readdirSync(folder).filter((name) => name.startsWith("task-"))).toHaveLength(3);
    expect(existsSync(join(folder, `task-${again.id}-1`))).toBe(true);
  }, 90_000);

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
  }, 60_000);

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
  }, 60_000);
});

function pick(start: ProjectAnswer["stages"]["start"]) {
  const { script, healthCheck } = start;
  return { script, healthCheck };
}
