import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { isAlive } from "../support/process-watch.ts";
import { answerOf, endListeners, type ProjectAnswer } from "../support/release-scene.ts";
import { httpCheck, setUpReleases } from "../support/releases-setup.ts";

const { server, git, notifications, newPort, serviceProject, read, rollback, deploy } = await setUpReleases();

/** A step that may change what only the runner may change. */
const host = true;
/** Makes the state of the workspace unwritable, as a full disk does: a folder is in the way, and nothing fits in its place. */
const blockState = 'mkdir "$CI_WORKSPACE/../state.json.new"; : >"$CI_WORKSPACE/../state.json"';

test("a runner that cannot write down a started service ends it, and the previous release returns", async () => {
  const port = newPort();
  const projectId = await serviceProject(port);
  const pidFile = join(server.scratch, "started.pid");
  const first = await deploy(projectId, "success");
  const script = `if [ -z "\${CI_ROLLBACK:-}" ]; then ${blockState}; fi; node built.js & echo $! >${pidFile}`;
  const pipeline = { start: [{ script, host, healthCheck: httpCheck(port) }] };
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { pipeline });
  const { task } = await deploy(projectId, "failed");
  expect(task.reason).toContain(`${first.commit.slice(0, 7)} is serving again`);
  expect(isAlive(Number(await Bun.file(pidFile).text()))).toBeFalse();
  expect((await answerOf(port)).commit).toBe(first.commit);
});

test("a rollback that cannot be recorded is still a success, because its release was put back", async () => {
  const script = `[ -z "\${CI_ROLLBACK:-}" ] || { ${blockState}; }`;
  const pipeline = { deploy: [{ script, host }] };
  const projectId = await server.project(`${git.url}/shop.git`, {}, { pipeline });
  const first = await deploy(projectId, "success");
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
    pipeline: { deploy: [{ script: "exit 3" }] },
  });
  const second = await deploy(projectId, "failed");
  expect(second.task.rollback).toMatchObject({ state: "success", taskId: first.task.id });
  expect(textOf(await server.log(second.task.id))).toContain("[the runner could not record the rollback: ");
});

test("a runner that cannot read its record of services still restores the previous release", async () => {
  const record = join(server.scratch, "deployed.txt");
  const script = `echo "$CI_COMMIT" >>${record}`;
  const projectId = await server.project(`${git.url}/shop.git`, { deploy: script });
  const first = await deploy(projectId, "success");
  // A folder in the place of the file cannot be read, as when too many files are open.
  const unreadable = 'mkdir -p "$CI_WORKSPACE/../../other/state.json"';
  await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
    pipeline: { deploy: [{ script: `${script}; ${unreadable}; exit 1`, host }] },
  });
  const second = await deploy(projectId, "failed");
  expect(second.task.rollback).toMatchObject({ state: "success", taskId: first.task.id });
  expect(second.task.reason).toEndWith("deploy failed with exit code 1");
  expect(await Bun.file(record).text()).toBe(`${first.commit}\n${second.commit}\n${first.commit}\n`);
  expect(textOf(await server.log(second.task.id))).toContain("[the recorded services could not be read: ");
});

describe("the previous release comes back by itself", () => {
  test("when the new service dies, its health check fails or its deploy fails", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success");
    const failures = {
      "a start that dies": { start: { script: "node -e 'throw new Error(1)' &" } },
      "a failing check": { start: { healthCheck: httpCheck(port, { expect: "never", timeoutSeconds: 1 }) } },
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
  });

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
  });

  test("a rollback that fails is reported and not repeated, and nothing is called live", async () => {
    const port = newPort();
    const broken = `/tmp/slipway-broken-${port}`;
    const projectId = await serviceProject(port, {
      stages: { start: { script: `[ ! -f ${broken} ]; node server.js &`, healthCheck: httpCheck(port) } },
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
  });

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
  });

  /** Deploys with this start script; then deploys again, with a deploy whose script cannot run. */
  async function deployThatNeverRuns(script: string) {
    const port = newPort();
    const record = join(server.scratch, `deployed-${port}.txt`);
    const projectId = await serviceProject(port, {
      stages: {
        build: { script: "cp server.js built.js" },
        deploy: { script: `echo "$CI_COMMIT" >>${record}` },
        start: { script, healthCheck: httpCheck(port) },
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
  }

  test("a deploy whose script never ran leaves the previous release alone", () =>
    deployThatNeverRuns("node built.js &"));

  test("a deploy whose script never ran leaves a service alone that left the session of its start script", () =>
    deployThatNeverRuns("setsid node built.js >/dev/null 2>&1 &"));

  test("a deploy whose script never ran starts the previous service again if that has ended", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success");
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      stages: { start: { directory: "not-there" } },
    });
    // Ends the watch of its first minute: a service that ends later is no reason against its release.
    const second = await deploy(projectId, "failed");
    expect(second.task.reason).toStartWith(`${second.short} failed; ${first.short} is still serving.`);
    await endListeners(port);
    const third = await deploy(projectId, "failed");
    expect(third.task.reason).toStartWith(`${third.short} failed; ${first.short} is serving again.`);
    expect((await answerOf(port)).commit).toBe(first.commit);
  });

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
  });
});

function pick(start: ProjectAnswer["stages"]["start"]) {
  const { script, healthCheck } = start;
  return { script, healthCheck };
}
