import { afterAll, expect, test } from "bun:test";
import { SlipwayPush } from "../../client/slipway-push.ts";
import type { LiveMessage } from "../../src/task/events/console-messages.ts";
import type { ApiClient } from "../support/api-server.ts";
import { answer, type GuardedProject, guardedProject, memberOf } from "../support/approval-scene.ts";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { deliverTo } from "../support/hook.ts";
import { receiveNotifications } from "../support/notification-receiver.ts";

const { server, repository } = await setUpDeploy({ "webhook.reconcileMinutes": 0.015 });
const notifications = receiveNotifications();
afterAll(() => notifications.stop());
const first = await repository.push({ "app.txt": "first\n" });
const guarded = (deploy: object = {}, more: object = {}): Promise<GuardedProject> =>
  guardedProject(server, { url: repository.url, dataDir: server.dataDir }, deploy, more);
const { admin } = server;

/** Runs the project's branch, or what else `body` asks for, until the task waits. */
async function requested(projectId: number, body: Record<string, unknown> = {}) {
  return server.reach((await server.run(projectId, body)).id, "waiting");
}

async function approved(id: number) {
  await answer(admin, id, "approve");
  return server.reach(id, "success");
}

test("a task is built once, waits, and deploys the built files with what was pinned; edits after the request change nothing", async () => {
  const { id, file, deployed } = await guarded();
  const task = await requested(id);
  expect(task).toMatchObject({ commit: first, approval: { state: "waiting", by: null } });
  expect(task.reason).toStartWith("Waiting for approval until ");
  expect(task.stages.map(({ state }) => state)).toEqual(["success", "pending", "skipped"]);
  const second = await repository.push({ "app.txt": "second\n" });
  await admin.expect(200, "PATCH", `/api/projects/${id}`, {
    env: { COLOR: "blue" },
    image: "",
    git: { url: `${repository.url}/` },
    stages: { build: { script: "false" }, deploy: { script: `echo hacked >> ${file}` } },
  });
  await answer(admin, task.id, "approve");
  expect(await server.reach(task.id, "success")).toMatchObject({
    commit: first,
    reason: "",
    approval: { state: "approved", by: "admin", comment: "checked" },
  });
  expect(deployed()).toEqual([`${first} red 1`]);
  expect(second).not.toBe(first);
  const log = textOf(await server.log(task.id));
  expect(log.split(`building ${first}`).length).toBe(2);
  expect(log).toContain("[approved by admin: checked]");
  const audit = await admin.expect<{ items: { action: string; subject: string }[] }>(
    200,
    "GET",
    "/api/audit",
  );
  expect(audit.items).toContainEqual(
    expect.objectContaining({ action: "task.approve", subject: `task ${task.id}` }),
  );
  await answer(admin, task.id, "approve", 409);
  await answer(admin, task.id, "reject", 409);
});

test("every trigger waits: webhook, replay, manual, rerun, from a later stage; a build alone and another ref do not", async () => {
  const { id, deployed } = await guarded({ branches: ["main", "release/**"] });
  const { url } = await admin.expect<{ url: string }>(200, "PUT", `/api/projects/${id}/webhook`, {
    enabled: true,
    debounceSeconds: 0,
    queuePolicy: "skip",
    // Without it, the poll deploys the push to dev below.
    branchFilter: ["main"],
  });
  const { body } = await deliverTo(url, { payload: { event: "push", ref: "main", author: "ann" } });
  await server.reach(Number(body.taskId), "waiting");
  // A task that waits is not unfinished: queuePolicy skip lets the next one in.
  const replay = `/api/webhooks/deliveries/${body.deliveryId}/replay`;
  const replayed = await admin.expect<{ taskId: number }>(202, "POST", replay);
  await server.reach(replayed.taskId, "waiting");
  const manual = await requested(id, { ref: "refs/heads/main" });
  const again = await admin.expect<{ id: number }>(201, "POST", `/api/tasks/${manual.id}/rerun`);
  await server.reach(again.id, "waiting");
  const from = await requested(id, { actions: { fromStage: "deploy" } });
  await server.reach((await server.run(id, { actions: { deploy: false, start: false } })).id, "success");
  expect(deployed()).toEqual([]);
  await repository.git("push", "-q", "origin", `${first}:refs/heads/dev`);
  const other = await server.reach((await server.run(id, { ref: "dev" })).id, "success");
  expect(other.approval).toBeNull();
  expect(deployed().length).toBe(1);
  await approved(again.id);
  // A newer deploy of the same ref overtakes what was requested before.
  for (const older of [Number(body.taskId), replayed.taskId, manual.id])
    expect(await server.task(older)).toMatchObject({
      state: "canceled",
      supersededBy: again.id,
      reason: `superseded by task ${again.id}`,
    });
  expect(await server.task(from.id)).toMatchObject({ state: "waiting" });
  expect(await answer(admin, from.id, "reject")).toMatchObject({
    state: "canceled",
    reason: "rejected by admin: checked",
    approval: { state: "rejected", by: "admin" },
  });
  expect(deployed().length).toBe(2);
  await admin.expect(200, "PUT", `/api/projects/${id}/webhook`, { enabled: false });
});

test("the ref that is built decides: a push to another branch that builds the project's branch waits", async () => {
  const { id, deployed } = await guarded({ branches: ["main"] });
  const { url } = await admin.expect<{ url: string }>(200, "PUT", `/api/projects/${id}/webhook`, {
    enabled: true,
    debounceSeconds: 0,
    refSource: "project",
  });
  const { body } = await deliverTo(url, { payload: { event: "push", ref: "dev", author: "ann" } });
  expect(await server.reach(Number(body.taskId), "waiting")).toMatchObject({
    ref: "refs/heads/main",
    causeRef: "refs/heads/dev",
  });
  expect(deployed()).toEqual([]);
  await admin.expect(200, "PUT", `/api/projects/${id}/webhook`, { enabled: false });
});

test("a push that a poll found waits; nobody knows who pushed it, so notByPusher leaves it to an administrator", async () => {
  const { id } = await guarded({ notByPusher: true });
  const manager = await memberOf(server, id, "poll-manager");
  await admin.expect(200, "PUT", `/api/projects/${id}/webhook`, { enabled: true, debounceSeconds: 0 });
  const polled = async () =>
    (await admin.expect<{ poll: { lastAt: string } | null }>(200, "GET", `/api/projects/${id}/webhook`)).poll
      ?.lastAt ?? null;
  await eventually("the first poll stores its baseline", async () => (await polled()) !== null);
  const commit = await repository.push({ "app.txt": "polled\n" });
  const found = async () =>
    (
      await admin.expect<{ items: { id: number; commit: string; state: string }[] }>(
        200,
        "GET",
        `/api/tasks?projectId=${id}`,
      )
    ).items.find((task) => task.commit === commit);
  await eventually("the poll makes a task", async () => (await found())?.state === "waiting");
  await answer(manager, Number((await found())?.id), "approve", 403);
  await admin.expect(200, "PUT", `/api/projects/${id}/webhook`, { enabled: false });
});

test("a rollback waits without a build, and deploys from the kept workspace", async () => {
  const { id, deployed } = await guarded();
  const one = await requested(id);
  await approved(one.id);
  await repository.push({ "app.txt": "to roll back\n" });
  await approved((await requested(id)).id);
  const back = await admin.expect<{ id: number }>(201, "POST", `/api/projects/${id}/rollback`, {
    taskId: one.id,
  });
  const waiting = await server.reach(back.id, "waiting");
  expect(waiting.stages.map(({ state }) => state)).toEqual(["skipped", "pending", "skipped"]);
  expect(deployed().length).toBe(2);
  await approved(back.id);
  expect(deployed().at(-1)).toBe(`${one.commit} red 1`);
  expect(await admin.expect<object>(200, "GET", `/api/projects/${id}`)).toMatchObject({
    liveTaskId: back.id,
  });
});

test("a task that waits holds no place of a runner and no later task of its project", async () => {
  const { id } = await guarded();
  const waiting = await Promise.all([requested(id), requested(id), requested(id)]);
  await eventually("no task is with a runner", async () => {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    return metrics.includes('slipway_tasks{state="running"} 0');
  });
  await server.reach((await server.run(id, { actions: { deploy: false } })).id, "success");
  for (const task of waiting) expect((await server.task(task.id)).state).toBe("waiting");
  // Canceling is another way to end a request.
  const [one] = waiting;
  await admin.expect(200, "POST", `/api/tasks/${one?.id}/cancel`);
  await server.reach(Number(one?.id), "canceled");
});

/** The console's live connection of a user, which has joined no channel. */
function watch(client: ApiClient) {
  const messages: LiveMessage[] = [];
  let isOpen = false;
  const push = new SlipwayPush({
    url: `${server.url}/ws`,
    temporary: true,
    code: async () =>
      (await client.expect<{ code: string }>(201, "POST", "/api/push/codes", { for: "console" })).code,
  });
  push.on("message", ({ data }) => messages.push(JSON.parse(data) as LiveMessage));
  push.on("open", () => {
    isOpen = true;
  });
  push.open();
  return { messages, isOpen: () => isOpen, close: () => push.close() };
}

test("people with manage are notified live, viewers and strangers are not; targets that name the event are notified", async () => {
  const { id } = await guarded(
    {},
    { notify: [{ url: notifications.url, events: ["approval.requested", "task.canceled"] }] },
  );
  const names = ["live-manager", "live-viewer"] as const;
  const manager = watch(await memberOf(server, id, names[0]));
  const viewer = watch(await memberOf(server, id, names[1], "view"));
  const other = await guarded();
  const stranger = watch(await memberOf(server, other.id, "live-stranger"));
  const administrator = watch(admin);
  const all = [manager, viewer, stranger, administrator];
  await eventually("all are connected", () => all.every(({ isOpen }) => isOpen()));
  const task = await requested(id);
  for (const { messages } of [manager, administrator])
    await eventually("a manager is notified", () =>
      messages.some((message) => message.type === "approval" && message.task.id === task.id),
    );
  for (const { messages } of [viewer, stranger])
    expect(messages.filter(({ type }) => type === "approval")).toEqual([]);
  for (const { close } of all) close();
  const { json } = await notifications.event(task.id, "approval.requested");
  expect(json.data.task).toMatchObject({ id: task.id, state: "waiting", approval: { state: "waiting" } });
  await answer(admin, task.id, "reject");
  await notifications.event(task.id, "task.canceled");
});
