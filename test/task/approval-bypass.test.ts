import { describe, expect, test } from "bun:test";
import { answer, type GuardedProject, guardedProject, memberOf } from "../support/approval-scene.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { deliverTo } from "../support/hook.ts";

const { server, repository, commit } = await setUpDeploy();
const { admin } = server;
const guarded = (deploy: object = {}): Promise<GuardedProject> =>
  guardedProject(server, { url: repository.url, dataDir: server.dataDir }, deploy);
const requested = async (projectId: number, body = {}) =>
  server.reach((await server.run(projectId, body)).id, "waiting");

describe("the rule", () => {
  test("is made weaker by an administrator only, also through a token; other changes are a manager's", async () => {
    const { id } = await guarded({ notByPusher: true, branches: ["main", "release/*"] });
    const path = `/api/projects/${id}`;
    const bo = await memberOf(server, id, "rule-bo");
    const weaker = [
      { approval: "none" },
      { branches: ["other"] },
      { branches: ["main"] },
      { branches: ["mai"] },
      { notByPusher: false },
      { approval: "none", branches: [], notByPusher: true },
    ];
    for (const deploy of weaker) {
      const refused = await bo.expect<{ error: { message: string } }>(403, "PATCH", path, { deploy });
      expect(refused.error.message).toContain("administrator");
    }
    // An administrator's token without the scope admin is no administrator.
    const { token } = await admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
      name: "ci",
      scopes: ["write"],
    });
    const byToken = await fetch(`${server.url}${path}`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ deploy: { approval: "none" } }),
    });
    expect(byToken.status).toBe(403);
    const stronger = [
      { branches: ["m*", "main", "release/*"] },
      { expiresAfterMinutes: 10_000 },
      { expiresAfterMinutes: 5 },
      { branches: [] },
    ];
    for (const deploy of stronger) await bo.expect(200, "PATCH", path, { deploy });
    await bo.expect(422, "PATCH", path, { deploy: { expiresAfterMinutes: 0 } });
    await bo.expect(422, "PATCH", path, { deploy: { approval: "maybe" } });
    await admin.expect(200, "PATCH", path, { deploy: { approval: "none" } });
    const project = await admin.expect<{ deploy: object }>(200, "GET", path);
    expect(project.deploy).toMatchObject({ approval: "none", notByPusher: true });
    // To turn it on again needs no administrator.
    await bo.expect(200, "PATCH", path, { deploy: { approval: "required" } });
  });

  test("that is switched off does not release waiting tasks; switched on, it holds queued tasks", async () => {
    const { id, deployed } = await guarded();
    const task = await requested(id);
    await admin.expect(200, "PATCH", `/api/projects/${id}`, { deploy: { approval: "none" } });
    expect((await server.task(task.id)).state).toBe("waiting");
    await server.reach((await server.run(id, { ref: "main", actions: { deploy: false } })).id, "success");
    expect(deployed()).toEqual([]);
    await answer(admin, task.id, "approve");
    await server.reach(task.id, "success");
    expect(deployed()).toEqual([`${commit} red 1`]);
    const gate = `${server.scratch}/gate`;
    await admin.expect(200, "PATCH", `/api/projects/${id}`, {
      stages: { build: { script: `while [ ! -e ${gate} ]; do sleep 0.02; done; echo 9 > built.txt` } },
    });
    const running = await server.run(id, { actions: { deploy: false } });
    await server.reach(running.id, "running");
    const queued = await server.run(id);
    await admin.expect(200, "PATCH", `/api/projects/${id}`, { deploy: { approval: "required" } });
    await Bun.write(gate, "");
    await server.reach(queued.id, "waiting");
    expect(deployed().length).toBe(1);
  });
});

describe("an answer", () => {
  test("of the person who pushed, started, repeated or replayed the task is refused with notByPusher", async () => {
    const { id, deployed } = await guarded({ notByPusher: true });
    const bo = await memberOf(server, id, "Pusher-Bo");
    const cy = await memberOf(server, id, "pusher-cy");
    const started = await bo.expect<{ id: number }>(201, "POST", `/api/projects/${id}/tasks`, {});
    await server.reach(started.id, "waiting");
    await answer(bo, started.id, "approve", 403);
    const { url } = await admin.expect<{ url: string }>(200, "PUT", `/api/projects/${id}/webhook`, {
      enabled: true,
      debounceSeconds: 0,
    });
    const { body } = await deliverTo(url, { payload: { event: "push", ref: "main", author: "pusher-bo" } });
    const pushed = await server.reach(Number(body.taskId), "waiting");
    await answer(bo, pushed.id, "approve", 403);
    // A repeat by another person does not hide who pushed, and that person started it.
    const again = await cy.expect<{ id: number }>(201, "POST", `/api/tasks/${pushed.id}/rerun`);
    await server.reach(again.id, "waiting");
    await answer(bo, again.id, "approve", 403);
    await answer(cy, again.id, "approve", 403);
    const replay = `/api/webhooks/deliveries/${body.deliveryId}/replay`;
    const replayed = await admin.expect<{ taskId: number }>(202, "POST", replay);
    await server.reach(replayed.taskId, "waiting");
    await answer(bo, replayed.taskId, "approve", 403);
    // The option that was on at the request holds, also if it is switched off later.
    await admin.expect(200, "PATCH", `/api/projects/${id}`, { deploy: { notByPusher: false } });
    await answer(bo, started.id, "approve", 403);
    expect(deployed()).toEqual([]);
    // To reject one's own work is always possible.
    await answer(bo, started.id, "reject");
    await answer(cy, pushed.id, "approve");
    await server.reach(pushed.id, "success");
    expect(deployed()).toEqual([`${commit} red 2`]);
  });

  test("of the person who sent a test delivery or a replay in another name is refused with notByPusher", async () => {
    const { id } = await guarded({ notByPusher: true });
    const di = await memberOf(server, id, "tester-di");
    const ed = await memberOf(server, id, "tester-ed");
    const hook = `/api/projects/${id}/webhook`;
    await admin.expect(200, "PUT", hook, { enabled: true, debounceSeconds: 0 });
    const named = { dryRun: false, ref: "main", author: "tester-ed" };
    const payload = { dryRun: false, payload: { event: "push", ref: "main", author: "somebody" } };
    const tested: { taskId: number; deliveryId: number }[] = [];
    for (const body of [named, payload]) {
      const sent = await di.expect<{ taskId: number; deliveryId: number }>(202, "POST", `${hook}/test`, body);
      await server.reach(sent.taskId, "waiting");
      await answer(di, sent.taskId, "approve", 403);
      tested.push(sent);
    }
    const [first, second] = tested;
    const replay = `/api/webhooks/deliveries/${second?.deliveryId}/replay`;
    const replayed = await admin.expect<{ taskId: number }>(202, "POST", replay);
    await server.reach(replayed.taskId, "waiting");
    await answer(di, replayed.taskId, "approve", 403);
    await answer(admin, replayed.taskId, "approve", 403);
    await answer(ed, Number(first?.taskId), "approve", 403);
    await answer(ed, replayed.taskId, "approve");
  });

  test("to a push of an unknown account is an administrator's with notByPusher", async () => {
    const { id } = await guarded({ notByPusher: true });
    const fay = await memberOf(server, id, "unknown-fay");
    const { url } = await admin.expect<{ url: string }>(200, "PUT", `/api/projects/${id}/webhook`, {
      enabled: true,
      debounceSeconds: 0,
    });
    const { body } = await deliverTo(url, { payload: { event: "push", ref: "main" } });
    const pushed = await server.reach(Number(body.taskId), "waiting");
    const refused = await answer(fay, pushed.id, "approve", 403);
    expect(JSON.stringify(refused)).toContain("administrator");
    await answer(admin, pushed.id, "approve");
  });

  test("needs manage of this project, and a token that may write", async () => {
    const { id, deployed } = await guarded();
    const task = await requested(id);
    const other = await guarded();
    const viewer = await memberOf(server, id, "answer-viewer", "view");
    const stranger = await memberOf(server, other.id, "answer-stranger");
    for (const act of ["approve", "reject"] as const) {
      await answer(viewer, task.id, act, 403);
      await answer(stranger, task.id, act, 404);
    }
    const manager = await memberOf(server, id, "answer-manager");
    const tokenOf = async (as: typeof manager, scopes: string[]) =>
      (await as.expect<{ token: string }>(201, "POST", "/api/tokens", { name: scopes.join(), scopes })).token;
    const byToken = async (token: string) =>
      (
        await fetch(`${server.url}/api/tasks/${task.id}/approve`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: "{}",
        })
      ).status;
    expect(await byToken(await tokenOf(manager, ["read"]))).toBe(403);
    expect(await byToken(await tokenOf(viewer, ["write"]))).toBe(403);
    expect((await server.task(task.id)).state).toBe("waiting");
    // A person who lost the permission does not approve with a session that was opened before.
    await admin.expect(204, "DELETE", `/api/projects/${id}/members/${manager.id}`);
    await answer(manager, task.id, "approve", 404);
    expect(deployed()).toEqual([]);
  });

  test("cannot be given twice: of two at the same time one counts, and one deploy follows", async () => {
    const { id, deployed } = await guarded();
    const task = await requested(id);
    const statuses = await Promise.all(
      (["approve", "approve", "reject", "approve"] as const).map(
        async (act) => (await admin.request("POST", `/api/tasks/${task.id}/${act}`, { comment: "" })).status,
      ),
    );
    expect(statuses.toSorted()).toEqual([200, 409, 409, 409]);
    const ended = await server.reach(task.id, "success", "canceled");
    expect(deployed().length).toBe(ended.state === "success" ? 1 : 0);
  });
});
