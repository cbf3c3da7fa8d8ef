import { describe, expect, test } from "bun:test";
import type { ApiClient } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { deliveriesOf, deliverTo, deliveryOf, makeHook, sha, type TestHook } from "../support/hook.ts";

const server = await setUpApi();
const admin = server.admin;

const push = (change: object = {}) => ({
  payload: { event: "push", ref: "refs/heads/main", commit: sha("a"), author: "ann", ...change },
});

function webhookPath({ projectId }: TestHook): string {
  return `/api/projects/${projectId}/webhook`;
}

describe("the endpoint's key", () => {
  test("is invalid at once after a reset; later deliveries name the former project to admins only", async () => {
    const hook = await makeHook(server, { debounceSeconds: 600 });
    const old = await hook.url();
    expect((await deliverTo(old, push())).status).toBe(202);
    const reset = await admin.expect<{ key: string; url: string }>(
      200,
      "POST",
      `${webhookPath(hook)}/reset-key`,
      {},
    );
    expect(reset.url).toEndWith(reset.key);
    const late = await deliverTo(old, push());
    expect([late.status, late.body.code]).toEqual([404, "endpoint_not_found"]);
    expect(await deliveryOf(admin, late.body.deliveryId)).toMatchObject({
      project_id: 0,
      former_project_id: hook.projectId,
    });
    const { id, client } = await server.newUser("former-viewer");
    await admin.expect(200, "PUT", `/api/projects/${hook.projectId}/members/${id}`, { permission: "manage" });
    expect((await client.request("GET", `/api/webhooks/deliveries/${late.body.deliveryId}`)).status).toBe(
      404,
    );
    expect((await deliverTo(reset.url, push())).status).toBe(200);
  });

  test("does not change when the webhook is turned off and on", async () => {
    const hook = await makeHook(server, {});
    const url = await hook.url();
    await hook.save({ enabled: false });
    await hook.save({ enabled: true });
    expect(await hook.url()).toBe(url);
  });
});

test("a secret is generated as 32 random bytes in base64url and not saved", async () => {
  const hook = await makeHook(server, {});
  const ask = () => admin.expect<{ secret: string }>(200, "POST", `${webhookPath(hook)}/generate-secret`, {});
  const [one, two] = [await ask(), await ask()];
  expect(Buffer.from(one.secret, "base64url")).toHaveLength(32);
  expect(one.secret).toMatch(/^[\w-]{43}$/);
  expect(one.secret).not.toBe(two.secret);
  expect(await admin.expect(200, "GET", webhookPath(hook))).toMatchObject({ secretSet: false });
});

test("what is read can be saved back unchanged", async () => {
  const hook = await makeHook(server, { branchFilter: ["main"], secret: "s" });
  const read = await admin.expect<Record<string, unknown>>(200, "GET", webhookPath(hook));
  const saved = await admin.expect<Record<string, unknown>>(200, "PUT", webhookPath(hook), read);
  expect({ ...saved, updatedAt: "" }).toEqual({ ...read, updatedAt: "" });
});

test("changes, resets, replays and real tests are audited, without secrets", async () => {
  const hook = await makeHook(server, { secret: "hush hush", branchFilter: ["main"] });
  const keyOf = async () => new URL(await hook.url()).pathname.split("/").at(-1);
  const firstKey = await keyOf();
  await admin.expect(200, "POST", `${webhookPath(hook)}/reset-key`, {});
  const answer = await hook.deliver({ ...push(), headers: { "X-CICD-Token": "hush hush" } });
  await admin.expect(202, "POST", `/api/webhooks/deliveries/${answer.body.deliveryId}/replay`, {});
  await admin.expect(202, "POST", `${webhookPath(hook)}/test`, { dryRun: false });
  const list = await admin.expect<{ items: { action: string; detail: { to?: object } }[] }>(
    200,
    "GET",
    `/api/audit?projectId=${hook.projectId}`,
  );
  const actions = list.items.map(({ action }) => action);
  expect(actions).toEqual([
    ...["webhook.test", "delivery.replay", "webhook.reset-key"],
    ...["webhook.save", "project.create"],
  ]);
  const saved = list.items[3]?.detail;
  expect(saved).toMatchObject({
    fields: expect.arrayContaining(["enabled", "key", "secret", "branchFilter"]),
    from: { enabled: false, branchFilter: [] },
    to: { enabled: true, branchFilter: ["main"] },
  });
  for (const name of ["key", "secret"]) expect(Object.keys(saved?.to ?? {})).not.toContain(name);
  for (const untold of ["hush hush", firstKey, await keyOf()])
    expect(JSON.stringify(list.items)).not.toContain(untold);
});

test("the record of a live delivery traces every check from `enabled` to the task", async () => {
  const hook = await makeHook(server, { secret: "s", debounceSeconds: 0 });
  const answer = await hook.deliver({ ...push(), headers: { "X-CICD-Token": "s" } });
  const record = await deliveryOf(admin, answer.body.deliveryId);
  const steps = (record.trace as { step: string; result: string }[]).map(
    ({ step, result }) => `${step} ${result}`,
  );
  expect(steps).toEqual([
    ...["enabled pass", "size pass", "rate pass", "signature pass"],
    ...[
      "event pass",
      "branch pass",
      "path pass",
      "keyword pass",
      "debounce skipped",
      "queue pass",
      "task pass",
    ],
  ]);
});

test("a replay of a body over 8 KB is exact", async () => {
  const hook = await makeHook(server, { provider: "github", events: ["merge_request"] });
  const pull = {
    action: "opened",
    filler: "x".repeat(20_000),
    number: 7,
    pull_request: { number: 7, title: "Doors", head: { ref: "doors", sha: sha("h") }, base: { ref: "main" } },
    sender: { login: "ann" },
  };
  const first = await hook.deliver({ payload: pull, headers: { "X-GitHub-Event": "pull_request" } });
  const record = await deliveryOf(admin, first.body.deliveryId);
  expect(Buffer.byteLength(String(record.body))).toBe(8192);
  const replayed = await admin.expect<Record<string, unknown>>(
    202,
    "POST",
    `/api/webhooks/deliveries/${first.body.deliveryId}/replay`,
    {},
  );
  expect(await deliveryOf(admin, replayed.deliveryId)).toMatchObject({
    replay_of: first.body.deliveryId,
    remote_ip: "replay",
    normalized: record.normalized,
    commit: sha("h"),
  });
});

test("nothing usable is stored: 409; nothing at all: 404", async () => {
  const unknown = await deliverTo(`${server.url}/api/hooks/git/${"0".repeat(48)}`, push());
  const replay = (id: unknown) => admin.request("POST", `/api/webhooks/deliveries/${id}/replay`, {});
  expect((await replay(unknown.body.deliveryId)).status).toBe(409);
  expect((await replay(2_000_000_000)).status).toBe(404);
});

test("a repeated delivery id of the host is marked and can be searched; a replay is not a repeat", async () => {
  const hook = await makeHook(server, { provider: "github", debounceSeconds: 0 });
  const headers = { "X-GitHub-Event": "push", "X-GitHub-Delivery": crypto.randomUUID() };
  const delivery = { payload: { ref: "refs/heads/main", after: sha("a") }, headers };
  const [first, second] = [await hook.deliver(delivery), await hook.deliver(delivery)];
  expect(await deliveryOf(admin, first.body.deliveryId)).toMatchObject({ repeat_of: null });
  expect(await deliveryOf(admin, second.body.deliveryId)).toMatchObject({ repeat_of: first.body.deliveryId });
  const path = `/api/webhooks/deliveries?search=${headers["X-GitHub-Delivery"]}`;
  expect((await admin.expect<{ total: number }>(200, "GET", path)).total).toBe(2);
  const replay = `/api/webhooks/deliveries/${first.body.deliveryId}/replay`;
  const replayed = await admin.expect<{ deliveryId: number }>(202, "POST", replay, {});
  expect(await deliveryOf(admin, replayed.deliveryId)).toMatchObject({
    replay_of: first.body.deliveryId,
    repeat_of: null,
  });
});

describe("the list of deliveries", () => {
  test("shows each caller the projects that it may view, filtered and by page", async () => {
    const [own, foreign] = [await makeHook(server, { debounceSeconds: 0 }), await makeHook(server, {})];
    for (const name of ["a", "b", "c"]) await own.deliver(push({ commit: sha(name) }));
    await own.deliver(push({ message: "[skip ci]" }));
    const hidden = await foreign.deliver(push());
    const { id, client } = await server.newUser("list-viewer");
    await admin.expect(200, "PUT", `/api/projects/${own.projectId}/members/${id}`, { permission: "view" });
    interface List {
      items: Record<string, unknown>[];
      total: number;
      page: number;
      pageSize: number;
    }
    const list = (query: string) => client.expect<List>(200, "GET", `/api/webhooks/deliveries?${query}`);
    expect(await list("")).toMatchObject({ total: 4, page: 1, pageSize: 20 });
    expect((await list(`projectId=${foreign.projectId}`)).total).toBe(0);
    expect((await list("status=ignored")).items).toHaveLength(1);
    const page = await list("page=2&pageSize=3");
    expect([page.total, page.items.length, page.items[0]?.commit]).toEqual([4, 1, sha("a")]);
    expect(Object.keys(page.items[0] ?? {})).not.toContain("body");
    expect((await list("from=2099-01-01T00:00:00Z")).total).toBe(0);
    expect((await list(`to=${Date.now() + 60_000}`)).total).toBe(4);
    for (const wrong of ["status=nonsense", "page=0", "pageSize=201"])
      expect((await client.request("GET", `/api/webhooks/deliveries?${wrong}`)).status).toBe(422);
    expect((await client.request("GET", `/api/webhooks/deliveries/${hidden.body.deliveryId}`)).status).toBe(
      404,
    );
    const stats = await client.expect<{ items: { status: string; count: number }[] }>(
      200,
      "GET",
      "/api/webhooks/stats",
    );
    expect(stats.items.reduce((sum, { count }) => sum + count, 0)).toBe(4);
  });

  test("of project 0 contains unknown keys, which only admins see", async () => {
    const missed = await deliverTo(`${server.url}/api/hooks/git/${"9".repeat(48)}`, push());
    const { client } = await server.newUser("zero-viewer");
    const list = (caller: ApiClient) =>
      caller.expect<{ items: { id: number; project_id: number }[] }>(
        200,
        "GET",
        "/api/webhooks/deliveries?projectId=0&pageSize=200",
      );
    const { items } = await list(admin);
    expect(items.map(({ id }) => id)).toContain(Number(missed.body.deliveryId));
    expect(new Set(items.map(({ project_id }) => project_id))).toEqual(new Set([0]));
    expect((await list(client)).items).toEqual([]);
  });

  test("is filtered by group", async () => {
    const { id } = await admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "doors" });
    const hook = await makeHook(server, {}, { groupId: id });
    await hook.deliver(push());
    const list = await admin.expect<{ items: { project_id: number }[] }>(
      200,
      "GET",
      `/api/webhooks/deliveries?groupId=${id}`,
    );
    expect(list.items.map((item) => item.project_id)).toEqual([hook.projectId]);
  });
});

test("a stranger learns nothing: unknown and malformed keys, and wrong secrets, are answered alike", async () => {
  const hook = await makeHook(server, { secret: "right", provider: "github" });
  const without = ({ deliveryId: _id, ...rest }: Record<string, unknown>) => rest;
  const at = async (key: string) => {
    const answer = await deliverTo(`${server.url}/api/hooks/git/${key}`, push());
    return { status: answer.status, body: without(answer.body) };
  };
  await admin.expect(200, "POST", `${webhookPath(hook)}/reset-key`, {});
  const answers = await Promise.all(["0".repeat(48), "x", "f".repeat(48)].map(at));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  const url = await hook.url();
  const failures = await Promise.all(
    [{}, { "X-Hub-Signature-256": "sha256=00" }, { "X-Hub-Signature-256": "right" }].map((headers) =>
      deliverTo(url, { ...push(), headers }),
    ),
  );
  expect(new Set(failures.map(({ body }) => JSON.stringify(without(body)))).size).toBe(1);
  expect(JSON.stringify(failures[0]?.body)).not.toMatch(/github|hook |project/i);
});

describe("hostile text", () => {
  const hostile = [
    "\u001b[31mred\u001b[0m",
    "<script>alert(1)</script>",
    "a\u0000b",
    "line\nbreak\r\n",
    "$(id) `id`; rm -rf /",
  ];
  test("in messages, authors and refs never reaches a log line unescaped and is stored without control characters", async () => {
    const hook = await makeHook(server, { debounceSeconds: 0 });
    for (const text of hostile) {
      const accepted = await hook.deliver(push({ message: text, author: text }));
      expect(accepted.status).toBe(202);
      const ignored = await hook.deliver(push({ ref: `refs/heads/${text}` }));
      expect([ignored.status, ignored.body.code]).toEqual([200, "ref_invalid"]);
    }
    for (const record of await deliveriesOf(admin, hook.projectId))
      for (const field of ["ref", "author", "commit_message", "reason", "commit"])
        expect(String(record[field])).not.toMatch(/\p{Cc}/u);
    for (const line of server.logLines) expect(line.trimEnd()).not.toMatch(/\p{Cc}/u);
  });
});
