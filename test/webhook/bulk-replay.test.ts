import { expect, test } from "bun:test";
import { normalized } from "../../src/git-host/delivery/normalized.ts";
import type { Delivery } from "../../src/model/delivery.ts";
import { buildBulkReplays } from "../../src/webhook/bulk-replay.ts";
import { answerOf } from "../../src/webhook/decide/outcome.ts";
import { setUpApi } from "../support/api-setup.ts";
import { makeHook, sha, type TestHook, tasksOf } from "../support/hook.ts";
import { sampleDelivery } from "../support/samples.ts";

const server = await setUpApi({ "webhook.limitPerMinute": 100_000 });

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
    expected: object | null;
    response: { status: string } | null;
    problem: string | null;
  }[];
}

const replay = (body: object) =>
  server.admin.expect<Bulk>(200, "POST", "/api/webhooks/deliveries/replay", body);

const push = (hook: TestHook, ref: string, commit: string) =>
  hook.deliver({ payload: { event: "push", ref: `refs/heads/${ref}`, commit: sha(commit), author: "ann" } });

const refsOf = ({ items }: Bulk) => items.map(({ delivery }) => delivery.ref);

test("a filtered list is replayed in bulk: the latest of each ref, after a preview, each audited", async () => {
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
  const audit = `/api/audit?projectId=${hook.projectId}`;
  const { items } = await server.admin.expect<{ items: { action: string }[] }>(200, "GET", audit);
  expect(items.filter(({ action }) => action === "delivery.replay")).toHaveLength(2);
});

test("a preview shows the outcome of each delivery by the current rules, and records nothing", async () => {
  const hook = await makeHook(server, { branchFilter: ["release"], debounceSeconds: 0 });
  await push(hook, "main", "a");
  await push(hook, "docs", "b");
  await hook.save({ branchFilter: ["main"] });
  const filter = { projectId: hook.projectId };
  const expectedOf = async () => (await replay({ filter })).items.map(({ expected }) => expected);
  expect(await expectedOf()).toMatchObject([
    { status: "accepted", code: "accepted", reason: "All filters passed." },
    {
      status: "ignored",
      code: "branch_not_matched",
      reason: "The branch docs matches none of main.",
      reasonParts: [{ code: "branch_not_matched", values: { ref: "docs", patterns: "main" } }],
    },
  ]);
  await hook.save({ enabled: false });
  expect(await expectedOf()).toMatchObject([{ code: "webhook_disabled" }, { code: "webhook_disabled" }]);
  expect(await tasksOf(server.admin, hook.projectId)).toHaveLength(0);
  expect((await replay({ filter })).matched).toBe(2);
});

test("the whole list is replayed, a hundred at a time", async () => {
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
});

test("only the selected deliveries are replayed; an original lists its replays, and each replay names it", async () => {
  const hook = await makeHook(server, { branchFilter: ["release"], debounceSeconds: 0 });
  const ids: number[] = [];
  for (const ref of ["main", "next", "docs"]) ids.push(Number((await push(hook, ref, ref)).body.deliveryId));
  const [main = 0, next = 0, docs = 0] = ids;
  await hook.save({ branchFilter: [] });
  const filter = { projectId: hook.projectId, status: "ignored" };
  const bulk = await replay({ filter, preview: false, only: [main, docs] });
  expect(refsOf(bulk)).toEqual(["main", "docs"]);
  expect(bulk).toMatchObject({ matched: 3, replayed: 2, unselected: 1, left: 0, next: null });
  expect(bulk.message).toContain("1 not selected");
  interface Shown {
    replay_of: number | null;
    replays: { id: number; status: string }[];
  }
  const shown = (id: number) => server.admin.expect<Shown>(200, "GET", `/api/webhooks/deliveries/${id}`);
  expect((await shown(next)).replays).toEqual([]);
  await server.admin.expect(202, "POST", `/api/webhooks/deliveries/${main}/replay`, {});
  const { replays } = await shown(main);
  expect(replays.map(({ status }) => status)).toEqual(["accepted", "accepted"]);
  for (const { id } of replays) expect(await shown(id)).toMatchObject({ replay_of: main, replays: [] });
  expect(replays[0]?.id).toBeGreaterThan(replays[1]?.id ?? 0);
});

test("a ref with a newer accepted delivery, or that was deleted since, is not replayed", async () => {
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

test("later deliveries count also if the filter does not match them: a merged delivery, a deletion", async () => {
  const hook = await makeHook(server, { debounceSeconds: 3600 });
  expect((await push(hook, "main", "1")).status).toBe(202);
  await hook.save({ branchFilter: ["release"] });
  for (const ref of ["main", "gone", "again", "next"]) await push(hook, ref, "2");
  for (const ref of ["gone", "again"])
    await hook.deliver({
      payload: { event: "push", ref: `refs/heads/${ref}`, commit: "0".repeat(40), author: "ann" },
    });
  await push(hook, "again", "3");
  await hook.save({ branchFilter: [] });
  expect((await push(hook, "main", "3")).body.status).toBe("merged");
  const bulk = await replay({ filter: { projectId: hook.projectId, code: "branch_not_matched" } });
  expect(refsOf(bulk)).toEqual(["next", "again"]);
  expect(bulk).toMatchObject({ matched: 5, replayed: 2, overtaken: 2, older: 1, nothing: 0 });
  expect(bulk.message).toContain("2 overtaken by a newer delivery of their ref, or deleted since");
});

test("a ref is what is built, whatever event reported it", async () => {
  const hook = await makeHook(server, {
    provider: "github",
    events: ["push", "merge_request"],
    branchFilter: ["release"],
    allowForks: true,
    debounceSeconds: 0,
  });
  const deliver = (event: string, payload: object) =>
    hook.deliver({ payload, headers: { "X-GitHub-Event": event } });
  const request = (number: number, source: object, change: object = {}) =>
    deliver("pull_request", {
      action: "merged" in change ? "closed" : "opened",
      number,
      pull_request: {
        number,
        merged: false,
        title: "Sell more",
        head: { ref: "main", sha: sha(`head ${number}`), repo: source },
        base: { ref: "main", repo: { full_name: "shop/shop" } },
        ...change,
      },
      repository: { full_name: "shop/shop" },
      sender: { login: "ann" },
    });
  await deliver("push", { ref: "refs/heads/main", after: sha("pushed"), pusher: { name: "ann" } });
  for (const number of [7, 8]) await request(number, { full_name: `fork-${number}/shop`, fork: true });
  const filter = { projectId: hook.projectId, code: "branch_not_matched" };
  const commits = async () => (await replay({ filter })).items.map(({ delivery }) => delivery.commit);
  expect(await commits()).toEqual([sha("pushed"), sha("head 7"), sha("head 8")]);
  await hook.save({ branchFilter: [] });
  const merged = { merged: true, merge_commit_sha: sha("merge"), merged_at: "2026-01-31T09:30:00Z" };
  const answer = await request(9, { full_name: "fork-9/shop", fork: true }, merged);
  expect(answer.status).toBe(202);
  expect(await commits()).toEqual([sha("head 7"), sha("head 8")]);
});

test("replays and tests are ignored: the newest delivery of the host is replayed", async () => {
  const hook = await makeHook(server, { branchFilter: ["release"], debounceSeconds: 0 });
  const old = (await push(hook, "main", "old")).body.deliveryId;
  await push(hook, "main", "new");
  await server.admin.expect(200, "POST", `/api/webhooks/deliveries/${old}/replay`, {});
  await hook.save({ queuePolicy: "skip", branchFilter: [] });
  const filter = { projectId: hook.projectId };
  const commits = async () => (await replay({ filter })).items.map(({ delivery }) => delivery.commit);
  expect(await commits()).toEqual([sha("new")]);
  await server.admin.expect(202, "POST", `/api/webhooks/deliveries/${old}/replay`, {});
  expect(await commits()).toEqual([sha("new")]);
  const test = { dryRun: false, commit: sha("test") };
  const tested = await server.admin.expect<{ reasonParts: unknown; messageParts: { code: string }[] }>(
    ...([200, "POST", `/api/projects/${hook.projectId}/webhook/test`, test] as const),
  );
  expect(tested.messageParts).toHaveLength(1);
  expect(tested.reasonParts).toEqual(tested.messageParts);
  expect(await commits()).toEqual([sha("new")]);
});

test("a push that arrives while the list is being replayed is not undone by it", async () => {
  const rows: Delivery[] = ["first", "second"].map((ref, n) => ({
    ...sampleDelivery({ ref, normalized: normalized({ rawRef: `refs/heads/${ref}` }) }),
    id: n + 1,
    repeat_of: null,
    replaced_by: null,
    environment: "",
  }));
  const pushedAgain: number[] = [];
  const replayMany = buildBulkReplays({
    deliveries: {
      scan: async () => rows.toReversed(),
      byId: async (id) => rows[id - 1] ?? null,
      overtaken: async (ids) => ids.filter((id) => pushedAgain.includes(id)),
    },
    expect: async () => ({ status: "accepted", code: "accepted", reason: "It fits." }),
    async replay() {
      pushedAgain.push(2);
      return answerOf({ code: "accepted", reason: "It fits." }, 3);
    },
  });
  const bulk = await replayMany({
    filter: {},
    after: null,
    only: null,
    preview: false,
    username: "ann",
    onReplayed: async () => {},
  });
  expect(
    bulk.items.map(({ delivery, response, problem }) => [delivery.ref, response?.deliveryId, problem]),
  ).toEqual([
    ["first", 3, null],
    ["second", undefined, { code: "replay_overtaken", values: {} }],
  ]);
});

test("a delivery that cannot be replayed does not stop the others", async () => {
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
  expect(bulk).toMatchObject({
    ...{ matched: 2, replayed: 1, failed: 1 },
    items: [{ problemParts: [] }, { problemParts: [{ code: "delivery_gone" }] }],
  });
});

test("an invalid position and an invalid filter are refused by name", async () => {
  const answer = await server.admin.request("POST", "/api/webhooks/deliveries/replay", {
    after: "x",
    filter: { status: "lost", from: "yesterday" },
  });
  expect(answer.status).toBe(422);
  const { fields } = (answer.body as { error: { fields: { field: string }[] } }).error;
  expect(fields.map(({ field }) => field)).toEqual(["filter.status", "filter.from", "after"]);
});
