import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ApiClient, signInAt, userPassword } from "../support/api-server.ts";
import { deployClient } from "../support/deploy-server.ts";
import { setUpServerProcess } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { deliverTo } from "../support/hook.ts";

const scene = await setUpServerProcess();
const { repository, dataDir } = scene;
let server = await deployClient(scene.server.url, dataDir);
const commit = await repository.push({ "app.txt": "approved\n" });

const scripts = (file: string) => ({
  build: 'echo "building $CI_COMMIT"',
  deploy: `echo "$CI_COMMIT $COLOR" >> ${file}`,
});
let files = 0;

async function guarded(deploy: object = {}, more: object = {}) {
  const file = join(dataDir, `deployed-${++files}`);
  const id = await server.project(repository.url, scripts(file), {
    env: { COLOR: "red" },
    deploy: { approval: "required", ...deploy },
    ...more,
  });
  const deployed = () => {
    try {
      return readFileSync(file, "utf8").trim().split("\n");
    } catch {
      return [];
    }
  };
  return { id, file, deployed };
}

async function manager(projectId: number, username: string): Promise<ApiClient> {
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/users", {
    username,
    password: userPassword,
  });
  await server.admin.expect(200, "PUT", `/api/projects/${projectId}/members/${id}`, { permission: "manage" });
  return signInAt(server.url, username, userPassword);
}

const answer = (id: number, act: "approve" | "reject", status = 200, as = server.admin) =>
  as.expect<Record<string, unknown>>(status, "POST", `/api/tasks/${id}/${act}`, { comment: "checked" });

test("a task is built, waits, and deploys what was pinned; an edit after the request changes nothing", async () => {
  const { id, file, deployed } = await guarded();
  const task = await server.reach((await server.run(id)).id, "waiting");
  expect(task).toMatchObject({ commit, runnerId: null, approval: { state: "waiting", by: null } });
  expect(task.stages.map(({ state }) => state)).toEqual(["success", "pending", "skipped"]);
  await repository.push({ "app.txt": "newer\n" });
  await server.admin.expect(200, "PATCH", `/api/projects/${id}`, {
    env: { COLOR: "blue" },
    stages: { deploy: { script: `echo hacked >> ${file}` } },
  });
  await answer(task.id, "approve");
  expect(await server.reach(task.id, "success")).toMatchObject({
    commit,
    approval: { state: "approved", by: "admin", comment: "checked" },
  });
  expect(deployed()).toEqual([`${commit} red`]);
  const audit = await server.admin.expect<{ items: { action: string }[] }>(200, "GET", "/api/audit");
  expect(audit.items.map(({ action }) => action)).toContain("task.approve");
  await answer(task.id, "approve", 409);
});

test("every trigger waits: webhook, replay, manual, rerun; a build alone and another ref do not", async () => {
  const { id, deployed } = await guarded({ branches: ["main", "release/**"] });
  const { url } = await server.admin.expect<{ url: string }>(200, "PUT", `/api/projects/${id}/webhook`, {
    enabled: true,
    debounceSeconds: 0,
  });
  const { body } = await deliverTo(url, { payload: { event: "push", ref: "main", author: "ann" } });
  await server.reach(Number(body.taskId), "waiting");
  const replay = `/api/webhooks/deliveries/${body.deliveryId}/replay`;
  const replayed = await server.admin.expect<{ taskId: number }>(202, "POST", replay);
  await server.reach(replayed.taskId, "waiting");
  const manual = await server.run(id, { ref: "refs/heads/main" });
  await server.reach(manual.id, "waiting");
  const again = await server.admin.expect<{ id: number }>(201, "POST", `/api/tasks/${manual.id}/rerun`);
  await server.reach(again.id, "waiting");
  const from = await server.run(id, { actions: { fromStage: "deploy" } });
  await server.reach(from.id, "waiting");
  await server.reach((await server.run(id, { actions: { deploy: false, start: false } })).id, "success");
  expect(deployed()).toEqual([]);
  await repository.git("push", "-q", "origin", `${commit}:refs/heads/dev`);
  await server.reach((await server.run(id, { ref: "dev" })).id, "success");
  expect(deployed()).toEqual([`${commit} red`]);
  // The tasks that wait hold no place and block nothing: those after them have run.
  await answer(again.id, "approve");
  await server.reach(again.id, "success");
  // A newer deploy of the same ref overtakes what was asked for before.
  for (const older of [Number(body.taskId), replayed.taskId, manual.id])
    expect(await server.reach(older, "canceled")).toMatchObject({
      supersededBy: again.id,
      reason: `superseded by task ${again.id}`,
    });
  expect(await server.task(from.id)).toMatchObject({ state: "waiting" });
  expect(await answer(from.id, "reject")).toMatchObject({
    state: "canceled",
    reason: "rejected by admin: checked",
  });
});

test("a manager cannot weaken the rule, nor approve their own work with notByPusher", async () => {
  const { id, deployed } = await guarded({ notByPusher: true, branches: ["main"] });
  const [bo, cy] = [await manager(id, "bo"), await manager(id, "cy")];
  for (const deploy of [{ approval: "none" }, { branches: ["other"] }, { notByPusher: false }])
    expect(await bo.expect<{ error: object }>(403, "PATCH", `/api/projects/${id}`, { deploy })).toBeDefined();
  await bo.expect(200, "PATCH", `/api/projects/${id}`, { deploy: { branches: ["main", "next"] } });
  const task = await bo.expect<{ id: number }>(201, "POST", `/api/projects/${id}/tasks`, {});
  await server.reach(task.id, "waiting");
  await answer(task.id, "approve", 403, bo);
  // A rule that an administrator turned off does not release what already waits.
  await server.admin.expect(200, "PATCH", `/api/projects/${id}`, { deploy: { approval: "none" } });
  await answer(task.id, "approve", 403, bo);
  expect((await server.task(task.id)).state).toBe("waiting");
  await answer(task.id, "approve", 200, cy);
  await server.reach(task.id, "success");
  expect(deployed().length).toBe(1);
});

test("another repository after the request deploys nothing", async () => {
  const { id, deployed } = await guarded();
  const task = await server.reach((await server.run(id)).id, "waiting");
  await server.admin.expect(200, "PATCH", `/api/projects/${id}`, { git: { url: `${repository.url}/` } });
  await answer(task.id, "approve");
  expect((await server.reach(task.id, "failed")).reason).toContain("git.url was changed after the approval");
  expect(deployed()).toEqual([]);
});

test("a request outlives kill -9 of the runner and of the server", async () => {
  const { id, deployed } = await guarded();
  const task = await server.reach((await server.run(id)).id, "waiting");
  process.kill(server.runnerPid(), "SIGKILL");
  await scene.server.end("SIGKILL");
  server = await deployClient((await scene.start()).url, dataDir);
  expect(await server.task(task.id)).toMatchObject({ state: "waiting", commit: task.commit });
  expect(deployed()).toEqual([]);
  await answer(task.id, "approve");
  await eventually("the runner is back", async () => (await server.task(task.id)).state !== "queued", 30_000);
  await server.reach(task.id, "success");
  expect(deployed()).toEqual([`${task.commit} red`]);
}, 60_000);
