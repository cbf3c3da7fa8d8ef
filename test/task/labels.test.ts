import { describe, expect, test } from "bun:test";
import type { ApiClient } from "../support/api-server.ts";
import { setUpProtocol } from "../support/api-setup.ts";
import { startDeployServer } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { type RegisterOptions, registerRunner } from "../support/protocol-runner.ts";
import { sampleScripts, sampleUrl } from "../support/protocol-scene.ts";

/** How long a claim waits that must get nothing. A task that is there is handed out at once. */
const nothingWithinMs = 1500;
const taskWithinMs = 20_000;

const scene = await setUpProtocol({ "webhook.debounceSeconds": 0 });
const admin = scene.server.admin;
// These tests bring their own runners.
await admin.expect(200, "PATCH", `/api/runners/${scene.runner.id}`, { disabled: true });

/** The id of the task that this runner gets, or null. */
async function claimedBy(options: RegisterOptions, withinMs = taskWithinMs): Promise<number | null> {
  const runner = await registerRunner(scene.server.url, admin, options);
  const held = await runner.claim(AbortSignal.timeout(withinMs)).catch(() => null);
  if (held) await runner.call("finish", held, { state: "success", reason: "" });
  await admin.expect(200, "PATCH", `/api/runners/${runner.id}`, { disabled: true });
  return held?.taskId ?? null;
}

async function queued(more: Record<string, unknown> = {}) {
  return scene.client.run(await scene.client.project(sampleUrl, sampleScripts, more));
}

async function waitingOf(taskId: number): Promise<string | undefined> {
  return (await admin.expect<{ waiting?: string }>(200, "GET", `/api/tasks/${taskId}`)).waiting;
}

const newGroup = (name: string, labels: string[] | null = null) =>
  admin.expect<{ id: number }>(201, "POST", "/api/groups", { name, labels });

describe("a runner with labels", () => {
  test("takes no project without labels, and the task shows why it waits", async () => {
    const { id } = await queued();
    // A runner of 1.0 may claim it. Only its registration counts.
    const labelled = await registerRunner(scene.server.url, admin, {
      name: "prod",
      labels: ["prod"],
      reports: { alsoUnlabelled: true },
    });
    expect(await labelled.claim(AbortSignal.timeout(nothingWithinMs)).catch(() => null)).toBeNull();
    expect(await waitingOf(id)).toBe(
      "waiting: every runner has labels and takes no project without labels; give the project labels, or let an administrator allow it for a runner under Runners",
    );
    await admin.expect(200, "PATCH", `/api/runners/${labelled.id}`, { disabled: true });
    expect(await claimedBy({ name: "both", labels: ["prod"], alsoUnlabelled: true })).toBe(id);
  });

  test("takes projects without labels after an admin has allowed it, until it is forbidden again", async () => {
    const runner = await registerRunner(scene.server.url, admin, { name: "allowed", labels: ["prod"] });
    const path = `/api/runners/${runner.id}`;
    expect(await admin.expect(200, "PATCH", path, { alsoUnlabelled: true })).toMatchObject({
      alsoUnlabelled: true,
    });
    const first = await queued();
    const held = await runner.claim(AbortSignal.timeout(taskWithinMs));
    expect(held?.taskId).toBe(first.id);
    if (held) await runner.call("finish", held, { state: "success", reason: "" });
    // Its claims do not change it.
    expect(await admin.expect(200, "GET", path)).toMatchObject({ alsoUnlabelled: true });
    await admin.expect(200, "PATCH", path, { alsoUnlabelled: false });
    const second = await queued();
    expect(await runner.claim(AbortSignal.timeout(nothingWithinMs)).catch(() => null)).toBeNull();
    await admin.expect(200, "PATCH", path, { disabled: true });
    await admin.expect(200, "POST", `/api/tasks/${second.id}/cancel`);
  });

  test("that loses a label while its claim waits does not get a task for it", async () => {
    const runner = await registerRunner(scene.server.url, admin, {
      name: "loses it",
      labels: ["arm", "gpu"],
    });
    const claim = runner.claim(AbortSignal.timeout(4000)).catch(() => null);
    await eventually("it waits", async () => {
      const { online } = await admin.expect<{ online: boolean }>(200, "GET", `/api/runners/${runner.id}`);
      return online;
    });
    await admin.expect(200, "PATCH", `/api/runners/${runner.id}`, { labels: ["arm"] });
    const { id } = await queued({ labels: ["gpu"] });
    expect(await claim).toBeNull();
    await admin.expect(200, "PATCH", `/api/runners/${runner.id}`, { disabled: true });
    await admin.expect(200, "POST", `/api/tasks/${id}/cancel`);
  });
});

describe("a runner that is bound to groups", () => {
  test("runs only projects of these groups, whatever labels others request", async () => {
    const [own, other] = [await newGroup("own"), await newGroup("other")];
    const strange = await queued({ groupId: other.id, labels: ["prod"] });
    const free = await queued({ labels: ["prod"] });
    const bound = { labels: ["prod"], groupIds: [own.id] };
    expect(await claimedBy({ name: "bound", ...bound }, nothingWithinMs)).toBeNull();
    const runner = await registerRunner(scene.server.url, admin, { name: "bound again", ...bound });
    for (const { id } of [strange, free])
      expect(await waitingOf(id)).toContain("every runner with the labels prod is bound to other groups");
    await admin.expect(200, "PATCH", `/api/runners/${runner.id}`, { disabled: true });
    const ours = await queued({ groupId: own.id, labels: ["prod"] });
    expect(await claimedBy({ name: "bound once more", ...bound })).toBe(ours.id);
    for (const { id } of [strange, free]) await admin.expect(200, "POST", `/api/tasks/${id}/cancel`);
  });

  test("cannot be bound to a group that does not exist", async () => {
    const refused = await admin.request("POST", "/api/runners", { name: "nowhere", groupIds: [99_999] });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toContain("groupIds");
  });
});

describe("the local runner", () => {
  interface Local {
    id: number;
    local: boolean;
    labels: string[];
    isolated: boolean;
  }
  const localOf = async (client: ApiClient) => {
    const { items } = await client.expect<{ items: Local[] }>(200, "GET", "/api/runners");
    const local = items.find((runner) => runner.local);
    if (!local) throw new Error("there is no local runner");
    return local;
  };

  test("keeps labels of an admin over a restart; labels of the setting take precedence", async () => {
    const first = await startDeployServer();
    const { id } = await localOf(first.admin);
    await first.admin.expect(200, "PATCH", `/api/runners/${id}`, { labels: ["gpu"] });
    await first.stop();
    const second = await startDeployServer({}, first.dataDir);
    expect(await localOf(second.admin)).toMatchObject({ id, labels: ["gpu"], isolated: false });
    await second.stop();
    const third = await startDeployServer({ "runner.labels": ["arm"] }, first.dataDir);
    expect(await localOf(third.admin)).toMatchObject({ id, labels: ["arm"] });
    const refused = await third.admin.request("PATCH", `/api/runners/${id}`, { labels: ["gpu"] });
    expect(refused.status).toBe(409);
    expect(refused.text).toContain("runner.labels");
    await third.stop();
    third.remove();
  });
});

describe("labels that a group may use", () => {
  test("limit what its projects may request, also for an admin", async () => {
    const { id: groupId } = await newGroup("small", ["linux"]);
    const body = { name: "wants more", git: { url: sampleUrl }, groupId, labels: ["linux", "prod"] };
    const refused = await admin.request("POST", "/api/projects", body);
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toContain("the group small may use linux");
    const projectId = await scene.client.project(sampleUrl, sampleScripts, { groupId, labels: ["linux"] });
    expect((await admin.request("PATCH", `/api/projects/${projectId}`, { labels: ["prod"] })).status).toBe(
      422,
    );
    await admin.expect(200, "PATCH", `/api/projects/${projectId}`, { env: { A: "b" } });
  });

  test("are checked at the hand-out too: a group that loses a label gets no more tasks for it", async () => {
    const { id: groupId } = await newGroup("shrinks", ["gpu"]);
    const { id } = await queued({ groupId, labels: ["gpu"] });
    await admin.expect(200, "PATCH", `/api/groups/${groupId}`, { labels: [] });
    expect(await claimedBy({ name: "strong", labels: ["gpu"] }, nothingWithinMs)).toBeNull();
    expect(await waitingOf(id)).toContain("waiting: the group shrinks may not use gpu");
    await admin.expect(200, "POST", `/api/tasks/${id}/cancel`);
  });

  test("are set by admins; a manager can neither change nor bypass them", async () => {
    const { id: userId, client: dora } = await scene.server.newUser("dora");
    const { id: groupId } = await newGroup("doras", []);
    await admin.expect(200, "PUT", `/api/groups/${groupId}/members/${userId}`, { permission: "manage" });
    expect((await dora.request("PATCH", `/api/groups/${groupId}`, { labels: ["prod"] })).status).toBe(403);
    expect((await dora.request("PATCH", `/api/groups/${groupId}`, { name: "doras own" })).status).toBe(200);
    const inGroup = await scene.client.project(sampleUrl, sampleScripts, { groupId });
    expect((await dora.request("PATCH", `/api/projects/${inGroup}`, { labels: ["prod"] })).status).toBe(422);
    const alone = await scene.client.project(sampleUrl, sampleScripts, { labels: ["linux"] });
    await admin.expect(200, "PUT", `/api/projects/${alone}/members/${userId}`, { permission: "manage" });
    const added = await dora.request("PATCH", `/api/projects/${alone}`, { labels: ["linux", "prod"] });
    expect(added.status).toBe(422);
    expect(JSON.stringify(added.body)).toContain("may add labels to a project without a group");
    expect((await dora.request("PATCH", `/api/projects/${alone}`, { labels: [] })).status).toBe(200);
  });
});

describe("a task that no runner can take", () => {
  test("shows at once that its runner was disabled, enabled or deleted", async () => {
    const { id } = await queued({ labels: ["solo"] });
    const none = "waiting: no runner has the labels solo";
    const away = "waiting: no runner with the labels solo is connected";
    const off =
      "waiting: every runner that may take it is disabled: solo; an administrator can enable one under Runners";
    expect(await waitingOf(id)).toBe(none);
    const runner = await admin.expect<{ id: number }>(201, "POST", "/api/runners", {
      name: "solo",
      labels: ["solo"],
    });
    expect(await waitingOf(id)).toBe(away);
    for (const [disabled, reason] of [
      [true, off],
      [false, away],
      [true, off],
      [false, away],
    ] as const) {
      await admin.expect(200, "PATCH", `/api/runners/${runner.id}`, { disabled });
      expect(await waitingOf(id)).toBe(reason);
    }
    await admin.expect(204, "DELETE", `/api/runners/${runner.id}`);
    expect(await waitingOf(id)).toBe(none);
    await admin.expect(200, "POST", `/api/tasks/${id}/cancel`);
  });

  test("is reported as waiting in the answer to the delivery, in the task, in its log and in the server's log", async () => {
    const projectId = await scene.client.project(sampleUrl, sampleScripts, { labels: ["gpu", "moon"] });
    const hook = await admin.expect<{ url: string }>(200, "PUT", `/api/projects/${projectId}/webhook`, {
      enabled: true,
      provider: "generic",
    });
    const path = new URL(hook.url).pathname;
    const response = await fetch(`${scene.server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ event: "push", ref: "refs/heads/main", commit: "a".repeat(40) }),
    });
    expect(response.status).toBe(202);
    const answer = (await response.json()) as { message: string; queued: boolean; taskId: number };
    expect(answer.message).toContain("waiting: no runner has the labels gpu, moon");
    expect(answer.message).not.toContain("dispatched");
    expect(answer.queued).toBe(true);
    expect(await waitingOf(answer.taskId)).toBe("waiting: no runner has the labels gpu, moon");
    await scene.client.logged(answer.taskId, "waiting: no runner has the labels gpu, moon");
    expect(scene.server.logLines.join("")).toContain("waiting: no runner has the labels gpu, moon");
    const runner = await registerRunner(scene.server.url, admin, { name: "moon", labels: ["gpu", "moon"] });
    const held = await runner.claim();
    expect(held).toMatchObject({ taskId: answer.taskId, logFrom: 1 });
    expect(await waitingOf(answer.taskId)).toBeUndefined();
    if (held) await runner.call("finish", held, { state: "success", reason: "" });
  });
});
