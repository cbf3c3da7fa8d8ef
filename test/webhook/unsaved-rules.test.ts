import { expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { makeHook, sha, type TestHook, tasksOf } from "../support/hook.ts";

const server = await setUpApi();
const admin = server.admin;

const push = (change: object = {}) => ({
  payload: { event: "push", ref: "refs/heads/main", commit: sha("a"), author: "ann", ...change },
});

function webhookPath({ projectId }: TestHook): string {
  return `/api/projects/${projectId}/webhook`;
}

test("a dry run leaves no record and no task behind", async () => {
  const hook = await makeHook(server, { enabled: false });
  const before = await admin.expect<{ total: number }>(200, "GET", "/api/webhooks/deliveries?pageSize=1");
  const payload = { ref: "refs/heads/main", after: sha("b"), commits: [], sender: { login: "ann" } };
  await hook.save({ provider: "github" });
  const body = { payload, headers: { "X-GitHub-Event": "push" } };
  const run = await admin.expect<{ trace: { step: string }[] }>(
    200,
    "POST",
    `${webhookPath(hook)}/test`,
    body,
  );
  expect(run).toMatchObject({
    dryRun: true,
    decision: { status: "accepted" },
    normalized: { author: "ann" },
  });
  expect(run.trace.map(({ step }) => step)).toEqual([
    "event",
    "branch",
    "path",
    "keyword",
    "debounce",
    "queue",
    "task",
  ]);
  expect(await tasksOf(admin, hook.projectId)).toEqual([]);
  const after = await admin.expect<{ total: number }>(200, "GET", "/api/webhooks/deliveries?pageSize=1");
  expect(after.total).toBe(before.total);
});

test("a dry run applies rules that are not saved; a real test does not take them", async () => {
  const hook = await makeHook(server, { branchFilter: ["main"] });
  const path = `${webhookPath(hook)}/test`;
  const sample = { ref: "next" };
  const decided = async (body: object) =>
    (await admin.expect<{ decision: { code: string } }>(200, "POST", path, body)).decision.code;
  expect(await decided(sample)).toBe("branch_not_matched");
  const config = { branchFilter: ["main", "next"] };
  expect(await decided({ ...sample, config })).toBe("accepted");
  expect(await decided({ ...sample, config: { events: ["tag"] } })).toBe("event_not_allowed");
  expect(await admin.expect(200, "GET", webhookPath(hook))).toMatchObject({ branchFilter: ["main"] });
  await admin.expect(422, "POST", path, { ...sample, dryRun: false, config });
});

test("a list or a text that is empty and stands for a default is answered as what is in force", async () => {
  const hook = await makeHook(server, { events: ["tag"], skipCiKeyword: "[no]", secretHeader: "X-Door" });
  const path = webhookPath(hook);
  const inForce = { events: ["push"], skipCiKeyword: "[skip ci]", secretHeader: "X-CICD-Token" };
  const empty = { events: [], skipCiKeyword: " ", secretHeader: "" };
  expect(await admin.expect(200, "PUT", path, empty)).toMatchObject(inForce);
  expect(await admin.expect(200, "GET", path)).toMatchObject(inForce);
});

test("a header that records keep cannot carry the secret", async () => {
  const path = webhookPath(await makeHook(server, {}));
  for (const secretHeader of [
    "User-Agent",
    "Content-Encoding",
    "X-Delivery-Id",
    "idempotency-key",
    "webhook-id",
  ])
    expect(await admin.expect(422, "PUT", path, { secretHeader })).toMatchObject({
      error: { fields: [{ field: "secretHeader" }] },
    });
});

test("what-if evaluates the last deliveries with a configuration that is not saved", async () => {
  const hook = await makeHook(server, { debounceSeconds: 0 });
  await hook.deliver(push());
  await hook.deliver(push({ ref: "refs/heads/next" }));
  await hook.deliver(push({ event: "tag", ref: "refs/tags/v1" }));
  const answer = await admin.expect<{ changed: number; items: Record<string, unknown>[] }>(
    200,
    "POST",
    `${webhookPath(hook)}/what-if`,
    { config: { branchFilter: ["main"], events: ["push", "tag"] } },
  );
  expect(answer.changed).toBe(2);
  expect(answer.items.map(({ changes }) => changes)).toEqual([true, true, false]);
  expect(answer.items[1]).toMatchObject({
    saved: { code: "accepted" },
    proposed: { code: "branch_not_matched" },
  });
  expect(await admin.expect(200, "GET", webhookPath(hook))).toMatchObject({
    branchFilter: [],
    events: ["push"],
  });
});

test("what-if evaluates the last fifty by default", async () => {
  const hook = await makeHook(server, { debounceSeconds: 0 });
  for (let sent = 0; sent < 51; sent++) await hook.deliver(push());
  const judged = async (body: object) =>
    (await admin.expect<{ items: unknown[] }>(200, "POST", `${webhookPath(hook)}/what-if`, body)).items
      .length;
  expect(await judged({})).toBe(50);
  expect(await judged({ last: 51 })).toBe(51);
});
