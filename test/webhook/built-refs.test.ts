import { describe, expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { deliveryOf, hmac, makeHook, sha, tasksOf } from "../support/hook.ts";

const server = await setUpApi({ "webhook.limitPerMinute": 10_000 });

const every = { events: ["push", "tag", "merge_request"], debounceSeconds: 0 };

/** Refs that hosts use for proposals, and names that only look like a branch or a tag. */
const refused = [
  "refs/pull/7/head",
  "refs/pull/7/merge",
  "refs/merge-requests/7/head",
  "refs/pull-requests/7/from",
  "refs/changes/07/7/1",
  "refs/for/main",
  "refs/notes/commits",
  "refs/remotes/origin/main",
  "refs/stash",
  "refs/Heads/main",
  "refs/headsmain",
  "refs/heads",
  "refs/heads/refs/pull/7/head",
  "refs/tags/refs/heads/main",
];

describe("an unsigned push", () => {
  test.each(refused)("of %s builds nothing, and the record shows the reason", async (ref) => {
    const hook = await makeHook(server, every);
    const payloads: object[] = [
      { event: "push", ref },
      { event: "push", ref, refType: "tag" },
      { event: "push", ref, refType: "branch" },
      { event: "tag", ref },
      { event: "merge_request", ref },
      { event: "merge_request", ref, targetBranch: "main" },
      { ref, after: sha("x") },
      { ref, after: sha("x"), object_kind: "tag_push" },
      { ref, ref_type: "branch" },
      { push: { changes: [{ new: { type: "branch", name: ref, target: { hash: sha("x") } } }] } },
      { changes: [{ ref: { id: ref }, toHash: sha("x"), type: "UPDATE" }] },
    ];
    for (const payload of payloads) {
      const answer = await hook.deliver({ payload });
      expect([answer.status, answer.body.status, payload]).toEqual([200, "ignored", payload]);
      expect(["ref_invalid", "fork_not_allowed"]).toContain(String(answer.body.code));
      const record = await deliveryOf(server.admin, answer.body.deliveryId);
      expect(String(record.reason).length).toBeGreaterThan(30);
    }
    expect(await tasksOf(server.admin, hook.projectId)).toEqual([]);
  });

  test("is refused with the ref and the allowed kinds of refs", async () => {
    const hook = await makeHook(server, every);
    const { body } = await hook.deliver({ payload: { event: "push", ref: "refs/pull/7/head" } });
    expect(body).toMatchObject({
      code: "ref_invalid",
      reason: "A push builds a branch (refs/heads/…) or a tag (refs/tags/…); refs/pull/7/head is neither.",
    });
    const record = await deliveryOf(server.admin, body.deliveryId);
    expect(record).toMatchObject({ ref: "refs/pull/7/head", ref_type: "" });
  });

  test.each([
    ["main", "refs/heads/main"],
    ["refs/heads/main", "refs/heads/main"],
    ["pull/7/head", "refs/heads/pull/7/head"],
    ["heads/main", "refs/heads/heads/main"],
    ["REFS/pull/7/head", "refs/heads/REFS/pull/7/head"],
    ["refs/tags/v1", "refs/tags/v1"],
  ])("of %s builds %s", async (ref, built) => {
    const hook = await makeHook(server, every);
    expect((await hook.deliver({ payload: { event: "push", ref } })).status).toBe(202);
    expect(await tasksOf(server.admin, hook.projectId)).toMatchObject([{ ref: built }]);
  });
});

test("the same rule applies to a signed push, a test and a replay", async () => {
  const hook = await makeHook(server, { ...every, provider: "github", secret: "right" });
  const body = JSON.stringify({ ref: "refs/pull/7/head", after: sha("x") });
  const headers = { "X-GitHub-Event": "push", "X-Hub-Signature-256": `sha256=${hmac("right", body)}` };
  const answer = await hook.deliver({ body, headers });
  expect(answer.body.code).toBe("ref_invalid");
  const replayed = await server.admin.expect(
    200,
    "POST",
    `/api/webhooks/deliveries/${answer.body.deliveryId}/replay`,
    {},
  );
  expect(replayed).toMatchObject({ code: "ref_invalid" });
  const path = `/api/projects/${hook.projectId}/webhook/test`;
  const tested = await server.admin.expect(200, "POST", path, { dryRun: false, ref: "refs/pull/7/head" });
  expect(tested).toMatchObject({ code: "ref_invalid" });
  expect(await tasksOf(server.admin, hook.projectId)).toEqual([]);
});

test("a generic merge request of a ref that is not a branch is treated as a fork's", async () => {
  const hook = await makeHook(server, { ...every, allowForks: true });
  const payload = { event: "merge_request", ref: "refs/pull/7/head", targetBranch: "main" };
  expect((await hook.deliver({ payload })).status).toBe(202);
  await hook.save({ allowForks: false });
  expect((await hook.deliver({ payload })).body.code).toBe("fork_not_allowed");
});

describe("webhooks without a secret", () => {
  test("are listed for users who may view their projects, until they have a secret", async () => {
    const [open, closed, off] = [
      await makeHook(server, {}),
      await makeHook(server, { secret: "right" }),
      await makeHook(server, {}),
    ];
    await off.save({ enabled: false });
    const viewer = await server.newUser("viewer");
    const stranger = await server.newUser("stranger");
    await server.admin.expect(200, "PUT", `/api/projects/${open.projectId}/members/${viewer.id}`, {
      permission: "view",
    });
    const listed = async (client = server.admin) =>
      client.expect<{ total: number; items: { projectId: number; projectName: string }[] }>(
        200,
        "GET",
        "/api/webhooks/unsigned",
      );
    const ids = (await listed()).items.map(({ projectId }) => projectId);
    expect(ids).not.toContain(closed.projectId);
    expect(ids).not.toContain(off.projectId);
    expect(await listed(viewer.client)).toMatchObject({ total: 1, items: [{ projectId: open.projectId }] });
    expect(await listed(stranger.client)).toEqual({ total: 0, items: [] });
    expect((await server.anonymous.request("GET", "/api/webhooks/unsigned")).status).toBe(401);
    await open.save({ secret: "right" });
    expect(await listed(viewer.client)).toEqual({ total: 0, items: [] });
    await open.save({ clearSecret: true });
    expect((await listed(viewer.client)).total).toBe(1);
  });
});

test("records and dry runs say in `normalized.nothing` why a ref builds nothing", async () => {
  const hook = await makeHook(server, { provider: "bitbucket" });
  const deleted = (name: string) => ({ old: { type: "branch", name }, new: null });
  const push = {
    payload: { push: { changes: [deleted("one"), deleted("two")] } },
    headers: { "X-Event-Key": "repo:push" },
  };
  const { body } = await hook.deliver(push);
  const dryRun = await server.admin.expect(200, "POST", `/api/projects/${hook.projectId}/webhook/test`, push);
  const nothing = { code: "ref_deleted" };
  for (const answer of [await deliveryOf(server.admin, body.deliveryId), dryRun]) {
    expect(answer).toMatchObject({
      normalized: { ref: "one", nothing, otherRefs: [{ ref: "two", nothing }] },
    });
    expect(JSON.stringify(answer)).not.toContain('"skip":');
  }
});
