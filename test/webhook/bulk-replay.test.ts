import { afterAll, beforeAll, expect, test } from "bun:test";
import { type ApiServer, startApiServer } from "../support/api-server.ts";
import { makeHook, sha, type TestHook, tasksOf } from "../support/hook.ts";

let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer({ "webhook.limitPerMinute": 100_000 });
});
afterAll(() => server.stop());

interface Bulk {
  preview: boolean;
  message: string;
  hint: string | null;
  matched: number;
  replayed: number;
  older: number;
  overtaken: number;
  nothing: number;
  left: number;
  isCut: boolean;
  next: string | null;
  items: {
    delivery: { commit: string; ref: string };
    response: { status: string } | null;
    problem: string | null;
  }[];
}

const replay = (body: object) =>
  server.admin.expect<Bulk>(200, "POST", "/api/webhooks/deliveries/replay", body);

const push = (hook: TestHook, ref: string, commit: string) =>
  hook.deliver({ payload: { event: "push", ref: `refs/heads/${ref}`, commit: sha(commit), author: "ann" } });

const refsOf = ({ items }: Bulk) => items.map(({ delivery }) => delivery.ref);

test("a filtered list is replayed in bulk: the latest of each ref, after a preview", async () => {
  const hook = await makeHook(server, { branchFilter: ["release"], debounceSeconds: 0 });
  for (const commit of ["a", "b"]) await push(hook, "main", commit);
  await push(hook, "next", "c");
  await hook.deliver({ payload: {} });
  await hook.save({ branchFilter: [] });
  const filter = { projectId: hook.projectId, status: "ignored" };
  const preview = await replay({ filter });
  expect(preview.items.map(({ delivery, response }) => [delivery.commit, response])).toEqual([
    [sha("b"), null],
    [sha("c"), null],
  ]);
  expect(preview).toMatchObject({ preview: true, matched: 4, replayed: 2, older: 1, nothing: 1, left: 0 });
  expect(preview.message).toBe(
    "4 found, 2 would be replayed; not replayed: 1 older of the same refs, 1 with nothing to build.",
  );
  expect(await tasksOf(server.admin, hook.projectId)).toHaveLength(0);
  const real = await replay({ filter, preview: false });
  expect(real.items.map(({ response }) => response?.status)).toEqual(["accepted", "accepted"]);
  expect((await tasksOf(server.admin, hook.projectId)).map(({ commit }) => commit)).toEqual([
    sha("c"),
    sha("b"),
  ]);
});

test("the whole list is gone through, a hundred at a time, however long it is", async () => {
  const hook = await makeHook(server, { branchFilter: ["release"], debounceSeconds: 0 });
  for (let n = 0; n < 130; n++) await push(hook, `b${n}`, `old ${n}`);
  for (let n = 0; n < 120; n++) await push(hook, `b${n}`, `new ${n}`);
  await hook.save({ branchFilter: [], queuePolicy: "always" });
  const filter = { projectId: hook.projectId, code: "branch_not_matched" };
  const first = await replay({ filter, preview: false });
  expect(first).toMatchObject({ matched: 250, replayed: 100, older: 120, left: 30, isCut: false });
  expect([first.message, first.hint]).toEqual([
    "250 found, 100 replayed; not replayed: 120 older of the same refs. 30 more refs are left.",
    "Send next back as after to go on with those that are left.",
  ]);
  expect(refsOf(first)).toEqual(Array.from({ length: 100 }, (_, n) => `b${n + 20}`));
  expect(first.items[0]?.delivery.commit).toBe(sha("new 20"));
  const second = await replay({ filter, preview: false, after: first.next });
  expect(second).toMatchObject({ replayed: 30, left: 0, next: null, hint: null });
  expect(second.older + second.replayed).toBe(second.matched);
  expect(refsOf(second)).toEqual([
    ...Array.from({ length: 10 }, (_, n) => `b${n + 120}`),
    ...Array.from({ length: 20 }, (_, n) => `b${n}`),
  ]);
  const tasks = await server.admin.expect<{ total: number }>(
    200,
    "GET",
    `/api/tasks?projectId=${hook.projectId}`,
  );
  expect(tasks.total).toBe(130);
}, 60_000);

test("a ref with a newer accepted delivery, or one that was deleted since, is left alone", async () => {
  const hook = await makeHook(server, { branchFilter: ["release"], debounceSeconds: 0 });
  for (const ref of ["main", "gone", "next"]) await push(hook, ref, "old");
  await hook.deliver({
    payload: { event: "push", ref: "refs/heads/gone", commit: "0".repeat(40), author: "ann" },
  });
  await hook.save({ branchFilter: [] });
  expect((await push(hook, "main", "new")).status).toBe(202);
  const filter = { projectId: hook.projectId, status: "ignored" };
  const bulk = await replay({ filter, preview: false });
  expect(refsOf(bulk)).toEqual(["next"]);
  expect(bulk).toMatchObject({ matched: 4, overtaken: 1, older: 1, nothing: 1 });
  const again = await replay({ filter, preview: false });
  expect(again).toMatchObject({ replayed: 0, overtaken: 2 });
});

test("one that cannot be replayed does not keep back the others", async () => {
  const [gone, hook] = [await makeHook(server, { branchFilter: ["x"] }), await makeHook(server, {})];
  await hook.save({ branchFilter: ["x"], debounceSeconds: 0 });
  await push(hook, "lonely", "a");
  await push(gone, "lonely", "a");
  await server.admin.expect(204, "DELETE", `/api/projects/${gone.projectId}`);
  await hook.save({ branchFilter: [] });
  const bulk = await replay({ filter: { search: "lonely" }, preview: false });
  expect(bulk.items.map(({ problem, response }) => [problem, response?.status])).toEqual([
    [null, "accepted"],
    ["The project of this delivery, or its webhook, is gone.", undefined],
  ]);
  expect(bulk).toMatchObject({ matched: 2, replayed: 1, failed: 1 });
});

test("a wrong place to go on from, and a wrong filter, are refused by name", async () => {
  const answer = await server.admin.request("POST", "/api/webhooks/deliveries/replay", {
    after: "x",
    filter: { status: "lost", from: "yesterday" },
  });
  expect(answer.status).toBe(422);
  const { fields } = (answer.body as { error: { fields: { field: string }[] } }).error;
  expect(fields.map(({ field }) => field)).toEqual(["filter.status", "filter.from", "after"]);
});
