import { expect, test } from "bun:test";
import type { ApiClient } from "../support/api-server.ts";
import { setUpProtocol } from "../support/api-setup.ts";
import { deliverTo } from "../support/hook.ts";
import { openServerFile } from "../support/server-file.ts";

interface Home {
  projectCount: number;
  mayAddProject: boolean;
  groups: { name: string }[];
  needs: Record<"kind" | "name" | "detail", string>[];
  projects: {
    items: { name: string; isBroken: boolean; publicUrl: string; last: { state: string } | null }[];
  };
}

const scene = await setUpProtocol();
const { server } = scene;
const { admin } = server;
const home = (client: ApiClient = admin, query = "") => client.expect<Home>(200, "GET", `/api/home${query}`);
const needsOf = async (client?: ApiClient) =>
  (await home(client)).needs.map(({ kind, name }) => `${kind} ${name}`);
const newest = async () =>
  (await admin.expect<{ items: { id: number }[] }>(200, "GET", "/api/projects")).items;
const hookOf = (id: number, webhook: object) =>
  admin.expect<{ url: string }>(200, "PUT", `/api/projects/${id}/webhook`, { enabled: true, ...webhook });

/** What a runner would report in time. */
function beside(statement: string, ...values: (string | number)[]): void {
  using file = openServerFile(server.dataDir);
  file.query(statement).run(...values);
}

test("names failed deploys until another one is on its way, and services and routes that do not serve", async () => {
  const { mayAddProject, needs } = await home();
  expect([mayAddProject, needs]).toEqual([true, []]);
  const held = await scene.claimed({ name: "ledger" });
  await scene.finish(held, "failed", "the tests failed");
  expect(await home()).toMatchObject({
    projectCount: 1,
    needs: [
      { kind: "deploy", name: "ledger", taskId: held.taskId, state: "failed", detail: "the tests failed" },
    ],
    projects: { items: [{ name: "ledger", isBroken: true, last: { state: "failed" } }] },
  });
  const [ledger] = await newest();
  const projectId = ledger?.id ?? 0;
  await scene.client.run(projectId);
  expect(await needsOf()).toEqual([]);
  const again = await scene.runner.claim();
  if (again === null) throw new Error("nothing to claim");
  await scene.finish(again);
  expect(await needsOf()).toEqual([]);

  const routes = [
    { domain: "a.example.com", path: "/", url: "", fault: "", certificateUntil: null },
    { domain: "b.example.com", path: "/", url: "", fault: "no certificate", certificateUntil: null },
  ];
  const put = (name: string, state: string, own: object[], reportedAt = Date.now() + 60_000) =>
    beside(
      `insert or replace into services (project_id, name, runner_id, task_id, state, since, started_at, restarts, exits, fault,
        last_lines, reported_at, sampled_at, is_away, routes)
      values (?, ?, 99, ?, ?, 1, 1, 0, '[]', '', '', ?, 1, 0, ?)`,
      ...[projectId, name, again.taskId, state, reportedAt, JSON.stringify(own)],
    );
  put("web", "serving", routes);
  put("worker", "restarting", []);
  put("stopped", "stopped", []);
  put("silent", "serving", [], Date.now() - 60_000);
  const { needs: found } = await home();
  expect(found).toMatchObject([
    { kind: "service", service: "silent", state: "unknown" },
    { kind: "service", service: "worker", state: "restarting" },
    { kind: "route", service: "web", place: "b.example.com", detail: "no certificate" },
  ]);
  beside("delete from services");
});

test("names a wrong signature until a right one, a webhook without a secret, and an approval", async () => {
  const shop = await scene.client.project("https://git.example.com/shop.git", {}, { name: "shop" });
  const open = await scene.client.project("https://git.example.com/shop.git", {}, { name: "open" });
  const secret = "k3vP0xq1nYt8Jr5sW2mZ7uB4cE6hL9aD";
  const { url } = await hookOf(shop, { provider: "gitlab", secret });
  await hookOf(open, {});
  const body = JSON.stringify({ ref: "refs/heads/other", checkout_sha: "a".repeat(40), commits: [] });
  const deliver = (token: string) =>
    deliverTo(url, { body, headers: { "x-gitlab-event": "Push Hook", "x-gitlab-token": token } });
  await deliver("another");
  expect(await needsOf()).toEqual(["signature shop", "unsigned open"]);
  expect((await home()).needs[0]?.detail).toContain("The signature failed");
  // Neither a test by hand nor a commit that a poll found says anything about the secret.
  await admin.expect(202, "POST", `/api/projects/${shop}/webhook/test`, { dryRun: false });
  expect(await needsOf()).toEqual(["signature shop", "unsigned open"]);
  beside("update deliveries set remote_ip = 'poll' where remote_ip = 'test'");
  expect(await needsOf()).toEqual(["signature shop", "unsigned open"]);
  await deliver(secret);
  expect(await needsOf()).toEqual(["unsigned open"]);
  beside("update tasks set state = 'waiting' where id = ?", (await scene.client.run(shop)).id);
  expect(await needsOf()).toEqual(["approval shop", "unsigned open"]);

  // Others have the needs of their projects alone.
  const viewer = await server.newUser("viewer");
  expect(await home(viewer.client)).toMatchObject({ projectCount: 0, mayAddProject: false, needs: [] });
  await admin.expect(200, "PUT", `/api/projects/${open}/members/${viewer.id}`, { permission: "view" });
  expect(await needsOf(viewer.client)).toEqual(["unsigned open"]);
});

test("names tasks that no runner takes once, with the reason, to those who may view them", async () => {
  beside("update tasks set state = 'queued' where state = 'waiting'");
  beside("update runners set last_seen_at = ?", Date.now() - 120_000);
  const waiting = async (client?: ApiClient) =>
    (await home(client)).needs.filter(({ kind }) => kind === "queue");
  const queued = (await admin.expect<{ total: number }>(200, "GET", "/api/tasks?state=queued")).total;
  expect(queued).toBeGreaterThan(1);
  expect(await waiting()).toMatchObject([
    { name: "shop", count: queued, detail: "waiting: no runner is connected" },
  ]);
  const stranger = await server.newUser("stranger");
  expect(await waiting(stranger.client)).toEqual([]);
  beside("update runners set last_seen_at = ?", Date.now() + 1000);
  expect(await waiting()).toEqual([]);
});

test("names an enabled runner that is away, to admins alone, instead of its services", async () => {
  const [{ id = 0 } = {}] = (await admin.expect<{ items: { id: number }[] }>(200, "GET", "/api/runners"))
    .items;
  beside("update runners set last_seen_at = ? where id = ?", Date.now() - 60_000, id);
  expect(await needsOf()).toContain("runner by hand");
  const viewer = await server.newUser("watcher");
  expect(await needsOf(viewer.client)).toEqual([]);
  await admin.expect(200, "PATCH", `/api/runners/${id}`, { disabled: true });
  expect(await needsOf()).not.toContain("runner by hand");
});

test("projects are found by a part of their name and by group, and needs stay those of all", async () => {
  const group = await admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "Storefront" });
  const [first] = await newest();
  const publicUrl = "https://shop.example.com";
  await admin.expect(200, "PATCH", `/api/projects/${first?.id}`, { groupId: group.id, publicUrl });
  const named = async (query: string) => (await home(admin, query)).projects.items.map(({ name }) => name);
  expect(await named("?search=LEDG")).toEqual(["ledger"]);
  expect(await named(`?groupId=${group.id}`)).toHaveLength(1);
  expect(await named("?search=100%25")).toEqual([]);
  const found = await home(admin, `?groupId=${group.id}`);
  expect(found.projects.items).toMatchObject([{ publicUrl }]);
  expect(found.groups).toMatchObject([{ name: "Storefront" }]);
  expect([found.projectCount, found.needs]).toEqual([3, (await home()).needs]);
  expect((await admin.request("GET", `/api/home?search=${"a".repeat(101)}`)).status).toBe(422);
});
