import { describe, expect, test } from "bun:test";
import { systemClock } from "../../src/clock.ts";
import { type Answer, type ApiClient, startApiServer } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import {
  apiAccess,
  expectedOutcome,
  type Held,
  type Outcome,
  outcomeOf,
} from "../support/endpoint-access.ts";
import { buildPermissionScene, missing } from "../support/permission-scene.ts";

/** The permissions of each role on its own project and group. On other projects and groups only an admin has permissions. */
const roles = {
  anonymous: { project: "", group: "" },
  stranger: { project: "", group: "" },
  viewer: { project: "view", group: "" },
  manager: { project: "manage", group: "" },
  "group viewer": { project: "view", group: "view" },
  "group manager": { project: "manage", group: "manage" },
  admin: { project: "manage", group: "manage" },
  "admin's read token": { project: "manage", group: "manage", scope: "read" },
  "admin's write token": { project: "manage", group: "manage", scope: "write" },
  "admin's publish token": { project: "manage", group: "manage", scope: "publish" },
  "admin's admin token": { project: "manage", group: "manage", scope: "admin" },
  "viewer's admin token": { project: "view", group: "", scope: "admin" },
  "manager's read token": { project: "manage", group: "", scope: "read" },
  runner: { project: "", group: "", scope: "runner" },
  /** A user of the application, with a code for the push gateway; a service with a key of push.api-keys; the metrics token. */
  "app user": { project: "", group: "" },
  service: { project: "", group: "" },
  prometheus: { project: "", group: "" },
} as const satisfies Record<string, Omit<Held, "account">>;
type RoleName = keyof typeof roles;

const heldByRole = Object.fromEntries(
  Object.entries(roles).map(([role, held]) => {
    const hasNoAccount = ["anonymous", "runner", "app user", "service", "prometheus"].includes(role);
    return [role, { ...held, account: hasNoAccount ? "none" : role.startsWith("admin") ? "admin" : "user" }];
  }),
) as Record<RoleName, Held>;

const clients = {} as Record<RoleName, ApiClient>;
const userIds = {} as Record<"viewer" | "manager" | "group viewer" | "group manager", number>;

const outside = { "push.api-keys": ["the-key-of-a-service"], "metrics.token": "the-token-of-prometheus" };
const quick = { "runner.enabled": false, "push.drain-delay": 0, "push.drain-period": 0 };
const server = await setUpApi({ ...outside, ...quick }, systemClock, "start");
clients.anonymous = server.anonymous;
clients.service = withSecret("the-key-of-a-service");
clients.prometheus = withSecret("the-token-of-prometheus");
const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
  userId: "customer-7",
});
clients["app user"] = withSecret(code);
clients.stranger = (await server.newUser("stranger")).client;
for (const role of ["viewer", "manager", "group viewer", "group manager"] as const) {
  const { id, client } = await server.newUser(role.replace(" ", "-"));
  clients[role] = client;
  userIds[role] = id;
}
clients.admin = (await server.newUser("boss", "admin")).client;
for (const [role, { scope }] of Object.entries(roles) as [RoleName, Omit<Held, "account">][]) {
  const owner = /^(\w+)'s/.exec(role)?.[1] as "admin" | "viewer" | "manager" | undefined;
  if (owner === undefined) continue;
  const body = { name: role, scopes: [scope] };
  const { token } = await clients[owner].expect<{ token: string }>(201, "POST", "/api/tokens", body);
  clients[role] = server.as(token);
}
const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/runners", {
  name: "matrix",
});
clients.runner = server.as(token);
const scene = await buildPermissionScene(server, [
  { noun: "project", userId: userIds.viewer, permission: "view" },
  { noun: "project", userId: userIds.manager, permission: "manage" },
  { noun: "group", userId: userIds["group viewer"], permission: "view" },
  { noun: "group", userId: userIds["group manager"], permission: "manage" },
]);

/** The secret is sent in every place where an endpoint could accept one. */
function withSecret(secret: string): ApiClient {
  const client = server.as(secret);
  return {
    ...client,
    request: (method, path, body, headers) =>
      client.request(method, path, body, { "x-api-key": secret, ...headers }),
  };
}

/** These delete what other calls need; the scene creates it again. */
const destroys = ["DELETE /api/projects/{id}", "DELETE /api/groups/{id}"];
/** Succeeds without a body and would end the session that the other calls need. */
const endsTheSession = "POST /api/auth/logout";

test("every endpoint of the management API has an expectation, and every expectation an endpoint", () => {
  expect(Object.keys(apiAccess).sort()).toEqual(scene.endpoints.map(({ key }) => key).sort());
});

test("the page of the management API names only endpoints that exist", async () => {
  const page = await Bun.file(new URL("../../docs/management-api.md", import.meta.url)).text();
  const named = [...page.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/api\/[\w/:-]+)/g)];
  const known = new Set(Object.keys(apiAccess).map((key) => key.replaceAll(/\{\w+\}/g, ":")));
  const unknown = named
    .map(([, method, path = ""]) => `${method} ${path.replaceAll(/:\w+/g, ":")}`)
    .filter((each) => !known.has(each));
  expect(named.length).toBeGreaterThan(15);
  expect(unknown).toEqual([]);
});

test.each(Object.entries(apiAccess))(
  "%s admits exactly %s, for an own and a foreign project",
  async (key, access) => {
    const [method = "", path = ""] = key.split(" ");
    const seen: Record<string, Outcome> = {};
    const wanted: Record<string, Outcome> = {};
    for (const side of ["own", "foreign"] as const)
      for (const [role, held] of Object.entries(heldByRole) as [RoleName, Held][]) {
        const outcome = expectedOutcome(held, method, access, side);
        if (key === endsTheSession && outcome === "allowed") continue;
        wanted[`${role}, ${side}`] = outcome;
        seen[`${role}, ${side}`] = outcomeOf(await clients[role].request(method, scene.concrete(path, side)));
        if (destroys.includes(key) && outcome === "allowed") await scene.make(side);
      }
    expect(seen).toEqual(wanted);
  },
);

test("lists show only what the caller may view", async () => {
  const lists = ["/api/projects", "/api/groups", "/api/tasks", "/api/webhooks/deliveries"];
  const seen = async (role: RoleName, path: string) =>
    (await clients[role].expect<{ items: object[] }>(200, "GET", `${path}?pageSize=200`)).items.map(
      (item) => {
        const ofProject =
          "projectId" in item ? item.projectId : "project_id" in item ? item.project_id : null;
        return ofProject ?? ("id" in item ? item.id : null);
      },
    );
  for (const path of lists) {
    const noun = path === "/api/groups" ? "group" : "project";
    expect(await seen("stranger", path)).toEqual([]);
    expect(await seen("admin", path)).toContain(scene.ids.foreign[noun]);
    const own = await seen("group viewer", path);
    expect(own).toContain(scene.ids.own[noun]);
    expect(own).not.toContain(scene.ids.foreign[noun]);
    const filtered = `projectId=${scene.ids.foreign.project}`;
    if (path === "/api/tasks" || path === "/api/webhooks/deliveries")
      expect(await clients.viewer.expect(200, "GET", `${path}?${filtered}`)).toMatchObject({ total: 0 });
  }
});

test("a project and a group contain the caller's permission, in lists and alone", async () => {
  for (const noun of ["project", "group"] as const)
    for (const [role, held] of Object.entries(roles).filter(
      ([, { scope }]: [string, Omit<Held, "account">]) => !scope,
    )) {
      if (held[noun] === "") continue;
      const client = clients[role as RoleName];
      const path = `/api/${noun}s`;
      expect(await client.expect(200, "GET", `${path}/${scene.ids.own[noun]}`)).toMatchObject({
        permission: held[noun],
      });
      const { items } = await client.expect<{ items: { id: number }[] }>(200, "GET", `${path}?pageSize=200`);
      expect(items.find(({ id }) => id === scene.ids.own[noun])).toMatchObject({ permission: held[noun] });
    }
});

describe("other users learn nothing", () => {
  /** A response without the ids of the request and without values that differ between calls. */
  const told = ({ status, headers, text }: Answer) => {
    const { date: _date, "x-request-id": _id, ...rest } = Object.fromEntries(headers);
    return [status, text.replaceAll(/\d+/g, "#"), { ...rest, "content-length": "" }];
  };

  test("about the existence of resources that they may not see, by any request", async () => {
    for (const { method, path, key } of scene.endpoints) {
      if (!path.includes("{id}") || apiAccess[key] === "session") continue;
      const body = method === "GET" ? undefined : {};
      for (const role of ["anonymous", "stranger", "viewer", "group manager"] as const) {
        const ask = async (id?: number) =>
          told(await clients[role].request(method, scene.concrete(path, "foreign", id), body));
        expect([key, role, await ask()]).toEqual([key, role, await ask(missing)]);
      }
    }
  });

  test("nor about a group that a body names", async () => {
    const git = { url: "https://git.example.com/shop.git" };
    for (const groupId of [scene.ids.foreign.group, missing]) {
      const create = await clients["group manager"].request("POST", "/api/projects", {
        name: "x",
        git,
        groupId,
      });
      const move = await clients.manager.request("PATCH", `/api/projects/${scene.ids.own.project}`, {
        groupId,
      });
      for (const { status, text } of [create, move])
        expect([status, text]).toEqual([
          404,
          expect.stringContaining(`no group ${groupId} that you may see`),
        ]);
    }
  });

  test("nor by HEAD, by unknown methods, or by an additional slash", async () => {
    for (const { path } of scene.endpoints.filter(({ method }) => method === "GET"))
      for (const role of ["anonymous", "stranger"] as const) {
        const where = scene.concrete(path, "foreign");
        const status = async (method: string, at: string) => (await clients[role].request(method, at)).status;
        expect([where, await status("HEAD", where)]).toEqual([where, await status("GET", where)]);
        expect([where, await status("PROPFIND", where)]).toEqual([where, 404]);
        expect([where, await status("GET", `${where}/`)]).toEqual([where, 404]);
      }
  });
});

describe("a token of an administrator without the scope admin", () => {
  const git = { url: "https://git.example.com/shop.git" };
  const token = () => clients["admin's write token"];
  const ungrouped = async (name: string) =>
    `/api/projects/${(await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", { name, git })).id}`;

  test("adds no project without a group", async () => {
    const refused = await token().request("POST", "/api/projects", { name: "ungrouped", git });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("scope admin")]);
    const groupId = scene.ids.own.group;
    await token().expect(201, "POST", "/api/projects", { name: "grouped", git, groupId });
    const all = clients["admin's admin token"];
    await all.expect(201, "POST", "/api/projects", { name: "ungrouped", git });
  });

  test("takes no project out of its group", async () => {
    const groupId = scene.ids.own.group;
    const body = { name: "leaving", git, groupId };
    const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", body);
    await token().expect(403, "PATCH", `/api/projects/${id}`, { groupId: null });
  });

  test("adds no label to a project without a group", async () => {
    const path = await ungrouped("labelled");
    const refused = await token().request("PATCH", path, { labels: ["production"] });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("scope admin")]);
    await server.admin.expect(200, "PATCH", path, { labels: ["production"] });
    await token().expect(200, "PATCH", path, { labels: ["production"], env: { A: "1" } });
  });

  test("reads repositories only where there is a group for them", async () => {
    const empty = await startApiServer();
    const { token: write } = await empty.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
      ...{ name: "ci", scopes: ["write"] },
    });
    const inspect = async () =>
      (await empty.as(write).request("POST", "/api/repositories/inspect", { url: "file:///x" })).status;
    expect(await inspect()).toBe(403);
    await empty.admin.expect(201, "POST", "/api/groups", { name: "shops" });
    expect(await inspect()).toBe(422);
    await empty.stop();
  });
});
