import { afterAll, afterEach, describe, expect, test } from "bun:test";
import type { TaskJson } from "../../src/task/view/task-json.ts";
import type { Answer } from "../support/api-server.ts";
import { makeHook } from "../support/hook.ts";
import { startServiceScene } from "../support/service-scene.ts";

const scene = await startServiceScene();
afterAll(() => scene.server.stop());
const { deployed, service, report, claimNow, runner, client, server, projectNow } = scene;
const { admin } = server;

afterEach(async () => {
  const { items } = await admin.expect<{ items: TaskJson[] }>(200, "GET", "/api/tasks?state=queued");
  for (const { id } of items) await admin.expect(200, "POST", `/api/tasks/${id}/cancel`);
});

const act = (projectId: number, action: string, name = "web") =>
  admin.expect<TaskJson>(202, "POST", `/api/projects/${projectId}/services/${name}/${action}`);
const messageOf = ({ body }: Answer) => (body as { error: { message: string } }).error.message;

describe("an action with a service", () => {
  test("is a task for the runner that has it, with the release that serves", async () => {
    const shop = await deployed(["web", "worker"], { env: { COLOUR: "blue" } });
    await admin.expect(200, "PATCH", `/api/projects/${shop.projectId}`, { env: { COLOUR: "red" } });
    const task = await act(shop.projectId, "restart");
    expect(task).toMatchObject({
      lane: "service",
      serviceAction: { type: "restart", services: ["web"] },
      triggerType: "manual",
      triggeredBy: "admin",
    });
    expect(task.queuePosition).toBeUndefined();
    const instruction = await claimNow();
    expect(instruction).toMatchObject({
      taskId: task.id,
      action: { type: "restart", services: ["web"] },
      release: { from: { taskId: shop.taskId } },
      stages: [],
      env: { COLOUR: "blue" },
    });
    expect(instruction?.services?.map(({ name }) => name)).toEqual(["web", "worker"]);
    expect(instruction?.repo.credential).toBeNull();
    if (!instruction) return;
    const step = { stage: "start", step: "web" };
    await runner.call("stage", instruction, { ...step, state: "running", exitCode: null });
    expect((await client.task(task.id)).state).toBe("running");
    await runner.call("stage", instruction, { ...step, state: "success", exitCode: 0 });
    await scene.finish(instruction);
    expect(await client.task(task.id)).toMatchObject({ state: "success" });
    // It has deployed nothing.
    expect((await projectNow(shop.projectId)).liveTaskId).toBe(shop.taskId);
    const audit = await admin.expect<{ items: { action: string; detail: unknown }[] }>(
      200,
      "GET",
      `/api/audit?projectId=${shop.projectId}`,
    );
    expect(audit.items.find(({ action }) => action === "service.restart")?.detail).toEqual({
      services: ["web"],
    });
  });

  test("does not wait behind a build, and a push does not wait for it", async () => {
    const shop = await deployed(["web"], { supersede: "running" });
    const build = await client.run(shop.projectId);
    const held = await claimNow();
    expect(held?.taskId).toBe(build.id);
    if (!held) return;
    await scene.stage(held, "build", "running");
    const stop = await act(shop.projectId, "stop");
    expect((await claimNow())?.taskId).toBe(stop.id);
    // It neither superseded the build, nor is it superseded.
    expect((await client.task(build.id)).state).toBe("running");
    await scene.stage(held, "build", "success");
    await scene.finish(held, "failed", "no");
    const push = await client.run(shop.projectId);
    expect(push.queuePosition).toBe(1);
    expect((await client.task(stop.id)).state).toBe("dispatched");
    expect((await claimNow())?.taskId).toBe(push.id);
  });

  test("a stop cancels a deploy that runs, and is done after it; a restart waits", async () => {
    const shop = await deployed(["web"]);
    const next = await client.run(shop.projectId);
    const held = await claimNow();
    if (!held) throw new Error("no task");
    await runner.call("stage", held, { stage: "start", step: "web", state: "running", exitCode: null });
    const restart = await act(shop.projectId, "restart");
    expect(await claimNow()).toBeNull();
    expect((await client.task(next.id)).state).toBe("running");
    const stop = await act(shop.projectId, "stop");
    expect(await client.task(next.id)).toMatchObject({
      state: "canceling",
      reason: `canceled by admin, who stopped the service (task ${stop.id})`,
    });
    const beat = await runner.call("beat", held, { waitMs: 0 });
    expect(beat.body).toMatchObject({ continue: false, why: "canceled" });
    expect(await claimNow()).toBeNull();
    await scene.finish(held, "canceled");
    expect((await claimNow())?.taskId).toBe(restart.id);
  });

  test("is no reason to skip a push, or to merge it into another", async () => {
    const pipeline = { start: { web: { command: "node web.js" } } };
    const hook = await makeHook(
      server,
      { provider: "generic", queuePolicy: "skip", debounceSeconds: 60 },
      { stages: undefined, pipeline },
    );
    await scene.deploy(hook.projectId);
    await act(hook.projectId, "restart");
    const push = (digit: string) =>
      hook.deliver({ payload: { ref: "refs/heads/main", commit: digit.repeat(40) } });
    expect(await push("a")).toMatchObject({ status: 202, body: { code: "accepted", queued: false } });
  });

  test("needs a release with this service, and its runner", async () => {
    const projectId = await scene.project(["web"]);
    const path = `/api/projects/${projectId}/services/web/stop`;
    const before = await admin.request("POST", path);
    expect(before.status).toBe(409);
    expect(messageOf(before)).toContain("deploy it first");
    const shop = await deployed(["web"]);
    expect((await admin.request("POST", `/api/projects/${shop.projectId}/services/other/stop`)).status).toBe(
      404,
    );
  });

  test("can be run again", async () => {
    const shop = await deployed(["web"]);
    const first = await act(shop.projectId, "start");
    const again = await admin.expect<TaskJson>(201, "POST", `/api/tasks/${first.id}/rerun`);
    expect(again).toMatchObject({ lane: "service", serviceAction: { type: "start", services: ["web"] } });
    await admin.expect(200, "POST", `/api/tasks/${first.id}/cancel`);
    expect((await claimNow())?.taskId).toBe(again.id);
  });
});

describe("a command in the release that serves", () => {
  const command = ["npm", "run", "seed"];
  test("is a task with a time limit", async () => {
    const shop = await deployed(["web"]);
    const task = await admin.expect<TaskJson>(202, "POST", `/api/projects/${shop.projectId}/exec`, {
      command,
    });
    expect(task.serviceAction).toEqual({ type: "exec", command });
    const instruction = await claimNow();
    expect(instruction?.action).toMatchObject({ type: "exec", command, timeoutMs: expect.any(Number) });
    // A stop does not wait for it.
    const stop = await act(shop.projectId, "stop");
    expect((await claimNow())?.taskId).toBe(stop.id);
    await report(service(shop, { state: "stopped" }));
  });

  test("is for administrators only where deploys need an approval", async () => {
    const shop = await deployed(["web"]);
    const { id, client: ann } = await server.newUser("ann");
    await admin.expect(200, "PUT", `/api/projects/${shop.projectId}/members/${id}`, { permission: "manage" });
    const run = (user = ann) => user.request("POST", `/api/projects/${shop.projectId}/exec`, { command });
    expect((await run()).status).toBe(202);
    await admin.expect(200, "PATCH", `/api/projects/${shop.projectId}`, { deploy: { approval: "required" } });
    const refused = await run();
    expect(refused.status).toBe(403);
    expect(messageOf(refused)).toContain("only an administrator");
    expect((await run(admin)).status).toBe(202);
    const restart = await ann.request("POST", `/api/projects/${shop.projectId}/services/web/restart`);
    expect(restart.status).toBe(202);
  });
});
