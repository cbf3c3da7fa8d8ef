import { describe, expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { deliveryOf, makeHook, sha, type TestHook, tasksOf } from "../support/hook.ts";

const limit = 2;
const server = await setUpApi({ "webhook.limitPerMinute": limit });

const tag = (name: string) => ({ payload: { event: "tag", ref: `refs/tags/${name}`, commit: sha(name) } });
const push = (ref: string) => ({ payload: { event: "push", ref: `refs/heads/${ref}`, commit: sha(ref) } });

const replayOne = (id: unknown, body: object = {}) =>
  server.admin.request("POST", `/api/webhooks/deliveries/${id}/replay`, body);
const replayMany = (filter: object, preview = false) =>
  server.admin.expect<Record<string, unknown> & { items: { response: { code: string } }[] }>(
    200,
    "POST",
    "/api/webhooks/deliveries/replay",
    { filter, preview },
  );

/** Sends deliveries until one is over the rate; returns its id. */
async function overRate(hook: TestHook, delivery: (n: number) => object): Promise<unknown> {
  for (let n = 0; n < limit; n++) await hook.deliver(delivery(n));
  const { body } = await hook.deliver(delivery(limit));
  expect(body.code).toBe("rate_limited");
  return body.deliveryId;
}

describe("a delivery that was refused before its event was checked", () => {
  test("is not deployed by a replay if the project does not listen to its event, unless forced", async () => {
    const hook = await makeHook(server, { debounceSeconds: 0 });
    const limited = await overRate(hook, (n) => tag(`v${n}`));
    const replayed = await replayOne(limited);
    expect(replayed).toMatchObject({ status: 200, body: { status: "ignored", code: "event_not_allowed" } });
    expect((replayed.body as { message: string }).message).toContain("Replay it with `force` to build it.");
    expect(await tasksOf(server.admin, hook.projectId)).toEqual([]);
    expect(await replayOne(limited, { force: true })).toMatchObject({ status: 202 });
    expect(await tasksOf(server.admin, hook.projectId)).toMatchObject([{ ref: "refs/tags/v2" }]);
  });

  test("is deployed by a replay once the project listens to its event", async () => {
    const hook = await makeHook(server, { debounceSeconds: 0 });
    const limited = await overRate(hook, (n) => tag(`v${n}`));
    await hook.save({ events: ["push", "tag"] });
    expect((await replayOne(limited)).status).toBe(202);
  });

  test("of a listed event is deployed by a replay", async () => {
    const hook = await makeHook(server, { debounceSeconds: 0 });
    expect((await replayOne(await overRate(hook, (n) => push(`b${n}`)))).status).toBe(202);
  });

  test("of several refs builds the listed one", async () => {
    const hook = await makeHook(server, { provider: "bitbucket", debounceSeconds: 0 });
    const change = (type: string, name: string) => ({ new: { type, name, target: { hash: sha(name) } } });
    const changes = [change("tag", "v1"), change("branch", "main")];
    const delivery = { payload: { push: { changes } }, headers: { "X-Event-Key": "repo:push" } };
    const limited = await overRate(hook, () => delivery);
    const { body } = await replayOne(limited);
    expect((await deliveryOf(server.admin, (body as { deliveryId: number }).deliveryId)).ref).toBe("main");
  });
});

test("a delivery whose event was checked is replayed without the event list, because a person chose it", async () => {
  const hook = await makeHook(server, { debounceSeconds: 0 });
  const { body } = await hook.deliver(tag("v1"));
  expect(body.code).toBe("event_not_allowed");
  expect((await replayOne(body.deliveryId)).status).toBe(202);
});

describe("a replay of a list", () => {
  test("applies the event list", async () => {
    const hook = await makeHook(server, { debounceSeconds: 0 });
    await overRate(hook, (n) => tag(`v${n}`));
    await overRate(hook, (n) => push(`b${n}`));
    const filter = { projectId: hook.projectId, code: "rate_limited" };
    const bulk = await replayMany(filter);
    expect(bulk.items.map(({ response }) => response.code)).toEqual(["event_not_allowed", "accepted"]);
    expect((await tasksOf(server.admin, hook.projectId)).map(({ ref }) => ref)).toEqual([
      "refs/heads/b2",
      "refs/heads/b1",
      "refs/heads/b0",
    ]);
    const judged = await replayMany({ projectId: hook.projectId, code: "event_not_allowed" });
    expect(new Set(judged.items.map(({ response }) => response.code))).toEqual(
      new Set(["event_not_allowed"]),
    );
  });

  test("counts failed signatures, and says how to replay one", async () => {
    const hook = await makeHook(server, { secret: "right", debounceSeconds: 0 });
    for (const ref of ["a", "b"]) expect((await hook.deliver(push(ref))).status).toBe(401);
    const filter = { projectId: hook.projectId, code: "signature_invalid" };
    for (const preview of [true, false]) {
      const bulk = await replayMany(filter, preview);
      expect(bulk).toMatchObject({ matched: 2, replayed: 0, unverified: 2, nothing: 0, items: [] });
      expect(bulk.message).toBe(
        `2 found, 0 ${preview ? "would be replayed" : "replayed"}; not replayed: 2 whose signature had failed. ` +
          "The sender of a delivery with a failed signature is unknown: to replay a delivery that you trust, do so individually, with force.",
      );
    }
    expect(await tasksOf(server.admin, hook.projectId)).toEqual([]);
  });
});
