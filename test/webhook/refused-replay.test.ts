import { describe, expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { deliveriesOf, makeHook, tasksOf } from "../support/hook.ts";

const payload = { event: "push", ref: "refs/heads/main" };

const server = await setUpApi();
const hook = await makeHook(server, { branchFilter: ["release"] });
const delivered = (await hook.deliver({ payload })).body.deliveryId;
await hook.save({ branchFilter: [], enabled: false });

const newest = async () => (await deliveriesOf(server.admin, hook.projectId))[0];

describe("a manual action on a webhook that is not enabled is a conflict, and recorded", () => {
  test("a replay", async () => {
    const answer = await server.admin.request("POST", `/api/webhooks/deliveries/${delivered}/replay`, {});
    const record = await newest();
    expect(record).toMatchObject({ code: "webhook_disabled", replay_of: delivered });
    expect(answer.status).toBe(409);
    expect(answer.body).toMatchObject({
      error: {
        code: "conflict",
        message: `The webhook of this project is not enabled. Delivery ${record?.id} is the record of it.`,
      },
    });
  });

  test("a real test", async () => {
    const path = `/api/projects/${hook.projectId}/webhook/test`;
    const answer = await server.admin.request("POST", path, { dryRun: false });
    const record = await newest();
    expect(record).toMatchObject({ code: "webhook_disabled", remote_ip: "test" });
    expect([answer.status, answer.body]).toMatchObject([409, { error: { code: "conflict" } }]);
  });

  test("a replay of a list, which counts it as failed with the reason", async () => {
    const filter = { projectId: hook.projectId, code: "branch_not_matched" };
    const path = "/api/webhooks/deliveries/replay";
    const bulk = await server.admin.expect(200, "POST", path, { filter, preview: false });
    expect(bulk).toMatchObject({
      matched: 1,
      replayed: 0,
      failed: 1,
      message: `1 found, 0 replayed; not replayed: 1 that failed. Delivery ${delivered}: The webhook of this project is not enabled.`,
      items: [
        {
          problem: "The webhook of this project is not enabled.",
          response: { status: "rejected", code: "webhook_disabled" },
        },
      ],
    });
  });

  test("and no task is created", async () => {
    expect(await tasksOf(server.admin, hook.projectId)).toEqual([]);
  });
});

test("every response status of a replay, a test or a reset is documented", async () => {
  const document = await server.admin.expect<{
    paths: Record<string, { post: { responses: Record<string, unknown> } }>;
  }>(200, "GET", "/api/openapi.json");
  const statusesOf = (path: string) => Object.keys(document.paths[path]?.post.responses ?? {});
  expect(statusesOf("/api/webhooks/deliveries/{id}/replay")).toEqual([
    ..."200 202 400 401 403 404 409 422 429".split(" "),
  ]);
  expect(statusesOf("/api/projects/{id}/webhook/test")).toEqual(
    "200 202 400 401 403 404 409 422 429".split(" "),
  );
  expect(statusesOf("/api/projects/{id}/webhook/reset-key")).toContain("409");
});
