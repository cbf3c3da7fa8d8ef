import { expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import type { ApiClient } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";

const server = await setUpApi();
const { admin } = server;

interface Found {
  projects: { projectId: number; permission: string }[];
  branches: { ref: string }[];
  commits: { taskId: number }[];
  tasks: { taskId: number }[];
  deliveries: { deliveryId: number }[];
  users: { username: string }[];
}
interface Overview {
  counts: { projects: number };
  projects: { items: { projectId: number; permission: string; current: { state: string } | null }[] };
  deploys: unknown[];
  deliveries: { items: { count: number }[] };
  gateway: object | null;
  notices: { isolation: object | null; unsignedWebhooks: { items: { projectId: number }[]; total: number } };
}

const commit = "abcdef0123456789abcdef0123456789abcdef01";

/** A project with a task and a delivery that name the same words. */
async function addProject(name: string, groupId: number | null = null) {
  const git = { url: "https://git.example.com/shop.git" };
  const project = await admin.expect<{ id: number }>(201, "POST", "/api/projects", { name, git, groupId });
  const webhook = { enabled: true, provider: "generic", events: ["push"], debounceSeconds: 0 };
  const { key } = await admin.expect<{ key: string }>(
    200,
    "PUT",
    `/api/projects/${project.id}/webhook`,
    webhook,
  );
  const push = {
    event: "push",
    ref: "refs/heads/feature/basket",
    commit,
    message: "Mend the basket",
    author: "ann",
  };
  const answer = await server.anonymous.request("POST", `/api/hooks/git/${key}`, push);
  const { taskId, deliveryId } = answer.body as { taskId: number; deliveryId: number };
  await admin.expect(200, "POST", `/api/tasks/${taskId}/cancel`);
  return { id: project.id, taskId, deliveryId };
}

const group = await admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "Storefront" });
const shop = await addProject("shop window", group.id);
const ledger = await addProject("shop ledger");
const viewer = await server.newUser("viewer");
const manager = await server.newUser("manager");
const member = await server.newUser("member");
const outsider = await server.newUser("outsider");
const give = (noun: string, id: number, userId: number, permission: string) =>
  admin.expect(200, "PUT", `/api/${noun}s/${id}/members/${userId}`, { permission });
await give("project", shop.id, viewer.id, "view");
await give("project", shop.id, manager.id, "manage");
await give("group", group.id, member.id, "view");
const { token } = await viewer.client.expect<{ token: string }>(201, "POST", "/api/tokens", {
  name: "reader",
  scopes: ["read"],
});

const find = (client: ApiClient, q: string) =>
  client.expect<Found>(200, "GET", `/api/search?q=${encodeURIComponent(q)}`);

/** Everything that a search of all kinds finds. */
async function findAll(client: ApiClient) {
  const texts = ["shop", "basket", "feature", commit.slice(0, 9), "viewer", "refs/heads/feature/basket"];
  const numbers = [shop, ledger].flatMap(({ taskId, deliveryId }) => [`#${taskId}`, String(deliveryId)]);
  const found = await Promise.all([...texts, ...numbers].map((text) => find(client, text)));
  const ids = (list: number[]) => [...new Set(list)].sort((a, b) => a - b);
  return {
    projects: ids(found.flatMap((each) => each.projects.map(({ projectId }) => projectId))),
    tasks: ids(found.flatMap((each) => [...each.tasks, ...each.commits].map(({ taskId }) => taskId))),
    deliveries: ids(found.flatMap((each) => each.deliveries.map(({ deliveryId }) => deliveryId))),
    branches: found.flatMap((each) => each.branches).length,
    users: found.flatMap((each) => each.users.map(({ username }) => username)),
  };
}

test("a search finds projects, branches, commits, tasks, deliveries and users", async () => {
  const all = await findAll(admin);
  expect(all.projects).toEqual([shop.id, ledger.id]);
  expect(all.tasks).toEqual([shop.taskId, ledger.taskId]);
  expect(all.deliveries).toEqual([shop.deliveryId, ledger.deliveryId]);
  expect(all.branches).toBeGreaterThanOrEqual(2);
  expect(all.users).toEqual(["viewer"]);
});

test("a search finds only what the caller may view", async () => {
  for (const client of [viewer.client, manager.client, member.client, server.as(token)]) {
    const own = await findAll(client);
    expect(own.projects).toEqual([shop.id]);
    expect(own.tasks).toEqual([shop.taskId]);
    expect(own.deliveries).toEqual([shop.deliveryId]);
    expect(own.users).toEqual([]);
  }
  expect(await findAll(outsider.client)).toEqual({
    projects: [],
    tasks: [],
    deliveries: [],
    branches: 0,
    users: [],
  });
  expect((await find(viewer.client, "shop")).projects[0]?.permission).toBe("view");
  expect((await find(manager.client, "shop")).projects[0]?.permission).toBe("manage");
  expect((await server.anonymous.request("GET", "/api/search?q=shop")).status).toBe(401);
});

test("odd searches answer nothing or a field's error, never a failure", async () => {
  for (const text of [" ", "%", "_", "\\", "'", '"', "#0", "#999999999999999", "💥", "a".repeat(200)])
    expect((await find(admin, text)).projects).toEqual([]);
  expect((await admin.request("GET", "/api/search")).status).toBe(422);
  expect((await admin.request("GET", `/api/search?q=${"a".repeat(201)}`)).status).toBe(422);
  expect((await admin.request("GET", "/api/search?q=%00")).status).toBe(422);
});

test("the overview has the visible projects only, and the gateway's figures for admins only", async () => {
  const all = await admin.expect<Overview>(200, "GET", "/api/overview");
  expect(all.counts.projects).toBe(2);
  expect(all.projects.items.map(({ projectId }) => projectId).sort()).toEqual([shop.id, ledger.id]);
  expect(all.notices.unsignedWebhooks.total).toBe(2);
  expect(all.notices.isolation).not.toBeNull();
  const own = await viewer.client.expect<Overview>(200, "GET", "/api/overview");
  expect(own.counts.projects).toBe(1);
  expect(own.projects.items).toMatchObject([{ projectId: shop.id, permission: "view", current: null }]);
  expect(own.deliveries.items.reduce((sum, { count }) => sum + count, 0)).toBe(1);
  expect([own.gateway, own.notices.isolation]).toEqual([null, null]);
  expect(own.notices.unsignedWebhooks.items.map(({ projectId }) => projectId)).toEqual([shop.id]);
  const none = await outsider.client.expect<Overview>(200, "GET", "/api/overview");
  expect(none).toMatchObject({ counts: { projects: 0 }, projects: { items: [], total: 0 }, deploys: [] });
});

test("an administrator's token without the scope admin gets no users, gateway figures or isolation", async () => {
  const { token: narrow } = await admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
    name: "narrow",
    scopes: ["read", "write"],
  });
  const client = server.as(narrow);
  expect((await find(client, "viewer")).users).toEqual([]);
  const shown = await client.expect<Overview>(200, "GET", "/api/overview");
  expect([shown.counts.projects, shown.gateway, shown.notices.isolation]).toEqual([2, null, null]);
  expect(await client.expect<object>(200, "GET", "/api/notices")).toMatchObject({ isolation: null });
});

test("an overview is compressed for clients that accept it", async () => {
  const get = async (encoding: string) => {
    const response = await fetch(`${server.url}/api/overview`, {
      headers: { authorization: `Bearer ${token}`, "accept-encoding": encoding },
      decompress: false,
    } as never);
    return { headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
  };
  const plain = await get("identity");
  expect(plain.headers.get("content-encoding")).toBeNull();
  const zipped = await get("gzip, br");
  expect(zipped.headers.get("vary")).toContain("Accept-Encoding");
  const isLong = plain.body.length >= 1400;
  const text = isLong ? gunzipSync(zipped.body) : zipped.body;
  expect(JSON.parse(text.toString())).toHaveProperty("projects");
});

test("tasks are filtered by ref, author, trigger and time", async () => {
  const count = async (query: string) =>
    (await admin.expect<{ total: number }>(200, "GET", `/api/tasks?${query}`)).total;
  expect(await count("author=ann")).toBe(2);
  expect(await count("author=ann&ref=refs%2Fheads%2Ffeature%2Fbasket&trigger=webhook&state=canceled")).toBe(
    2,
  );
  expect(await count("trigger=manual")).toBe(0);
  expect(await count("from=2020-01-01&to=2020-01-02")).toBe(0);
  expect(await count("from=2020-01-01")).toBe(2);
  expect((await admin.request("GET", "/api/tasks?trigger=magic")).status).toBe(422);
  expect((await admin.request("GET", "/api/tasks?from=yesterday")).status).toBe(422);
});
