import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Answer, type ApiClient, type ApiServer, startApiServer } from "../support/api-server.ts";

/**
 * Who may call what, written down by hand and apart from the code that decides it. An endpoint that is missing here
 * fails the first test: say who may call it. A scope after the comma is what an API token needs where it is not the
 * usual one (read for GET, admin for "admin", write for the rest).
 */
const expectations: Record<string, string> = {
  "POST /api/auth/login": "anonymous",
  "POST /api/auth/logout": "session",
  "GET /api/auth/me": "signed-in",
  "POST /api/auth/password": "session",
  "GET /api/auth/sessions": "session",
  "DELETE /api/auth/sessions/{id}": "session",
  "GET /api/users": "admin",
  "POST /api/users": "admin",
  "GET /api/users/{id}": "admin",
  "GET /api/users/by-name/{username}": "signed-in",
  "PATCH /api/users/{id}": "admin",
  "DELETE /api/users/{id}": "admin",
  "DELETE /api/users/{id}/sessions": "admin",
  "GET /api/groups": "signed-in",
  "POST /api/groups": "admin",
  "GET /api/groups/{id}": "group view",
  "PATCH /api/groups/{id}": "group manage",
  "DELETE /api/groups/{id}": "admin",
  "GET /api/groups/{id}/members": "group view",
  "PUT /api/groups/{id}/members/{userId}": "group manage",
  "DELETE /api/groups/{id}/members/{userId}": "group manage",
  "GET /api/projects": "signed-in",
  "POST /api/projects": "signed-in",
  "GET /api/projects/{id}": "project view",
  "PATCH /api/projects/{id}": "project manage",
  "DELETE /api/projects/{id}": "project manage",
  "GET /api/projects/{id}/members": "project view",
  "PUT /api/projects/{id}/members/{userId}": "project manage",
  "DELETE /api/projects/{id}/members/{userId}": "project manage",
  "PUT /api/projects/{id}/secrets/{name}": "project manage",
  "DELETE /api/projects/{id}/secrets/{name}": "project manage",
  "PUT /api/projects/{id}/credential": "project manage",
  "DELETE /api/projects/{id}/credential": "project manage",
  "GET /api/projects/{id}/keys": "project view",
  "PUT /api/projects/{id}/keys/{kind}": "project manage",
  "DELETE /api/projects/{id}/keys/{kind}": "project manage",
  "GET /api/projects/{id}/webhook": "project view",
  "PUT /api/projects/{id}/webhook": "project manage",
  "POST /api/projects/{id}/webhook/generate-secret": "project manage",
  "POST /api/projects/{id}/webhook/reset-key": "project manage",
  "POST /api/projects/{id}/webhook/test": "project manage",
  "POST /api/projects/{id}/webhook/what-if": "project view, read",
  "GET /api/webhooks/deliveries": "signed-in",
  "GET /api/webhooks/deliveries/{id}": "project view",
  "GET /api/webhooks/stats": "signed-in",
  "GET /api/webhooks/unsigned": "signed-in",
  "POST /api/webhooks/deliveries/{id}/replay": "admin",
  "POST /api/webhooks/deliveries/replay": "admin",
  "POST /api/samples": "admin",
  "DELETE /api/samples/{id}": "project manage",
  "POST /api/projects/{id}/tasks": "project manage",
  "GET /api/tasks": "signed-in",
  "GET /api/tasks/{id}": "project view",
  "GET /api/tasks/{id}/log": "project view",
  "POST /api/tasks/{id}/cancel": "project manage",
  "POST /api/tasks/{id}/rerun": "project manage",
  "GET /api/project-tasks": "signed-in",
  "POST /api/push/codes": "signed-in",
  "GET /api/push/verify": "anonymous",
  "POST /api/push/verify": "anonymous",
  "POST /api/push/publish": "admin, publish",
  "POST /api/push/disconnect": "admin",
  "GET /api/push/connections": "admin",
  "GET /api/push/online": "admin",
  "GET /api/tokens": "signed-in",
  "POST /api/tokens": "signed-in, admin",
  "DELETE /api/tokens/{id}": "signed-in, admin",
  "GET /api/runners": "admin",
  "POST /api/runners": "admin",
  "GET /api/runners/{id}": "admin",
  "PATCH /api/runners/{id}": "admin",
  "POST /api/runners/{id}/reset-token": "admin",
  "DELETE /api/runners/{id}": "admin",
  "GET /api/audit": "admin",
};

/** What each role holds: of the own project, of the own group; of the foreign ones nobody but an admin holds anything. */
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
} as const satisfies Record<string, Held>;
interface Held {
  project: string;
  group: string;
  scope?: string;
}
type RoleName = keyof typeof roles;

type Outcome = "allowed" | "401" | "403" | "404";
type Side = "own" | "foreign";

/** The rule in words: the credential, then the kind of caller, then the scope, then the thing. */
function expected(role: RoleName, method: string, expectation: string, side: Side): Outcome {
  const [access = "", scope = access === "admin" ? "admin" : method === "GET" ? "read" : "write"] =
    expectation.split(", ");
  const held: Held = roles[role];
  const isAdmin = role.startsWith("admin");
  if (access === "anonymous") return "allowed";
  if (role === "anonymous" || role === "runner") return "401";
  if (access === "session" && held.scope) return "403";
  if (access === "admin" && !isAdmin) return "403";
  if (held.scope && !covers(held.scope, scope)) return "403";
  const [noun, needed] = access.split(" ");
  if (noun !== "project" && noun !== "group") return "allowed";
  const permission = side === "own" || isAdmin ? held[noun] : "";
  if (permission === "") return "404";
  return permission === needed || permission === "manage" ? "allowed" : "403";
}

function covers(held: string, needed: string): boolean {
  return held === "admin" || held === needed || (held === "write" && needed === "read");
}

/** Input is checked after the permission, so that a wrong body, or a thing inside that is missing, proves the way in. */
function outcomeOf({ status, text }: Answer): Outcome {
  if (status === 401) return "401";
  if (status === 403) return "403";
  if (status === 404 && text.includes("that you may see")) return "404";
  if (status >= 500) throw new Error(`answered ${status}: ${text}`);
  return "allowed";
}

let server: ApiServer;
const clients = {} as Record<RoleName, ApiClient>;
const userIds = {} as Record<"viewer" | "manager" | "group viewer" | "group manager", number>;
const missing = 2_000_000_000;
const none = { project: 0, group: 0, task: 0, delivery: 0 };
const ids = { own: none, foreign: none };
let endpoints: { method: string; path: string; key: string }[] = [];

/** One delivery of the project, through its own hook. */
async function deliver(project: number): Promise<number> {
  const path = `/api/projects/${project}/webhook`;
  const { key } = await server.admin.expect<{ key: string }>(200, "PUT", path, { enabled: true });
  const hook = await server.anonymous.request("POST", `/api/hooks/git/${key}`, { event: "unknown" });
  return (hook.body as { deliveryId: number }).deliveryId;
}

async function makeThings(side: Side): Promise<void> {
  const { admin } = server;
  const label = `${side} ${crypto.randomUUID()}`;
  const make = async (path: string, body: object) =>
    (await admin.expect<{ id: number }>(201, "POST", path, body)).id;
  const group = await make("/api/groups", { name: label });
  const git = { url: "https://git.example.com/shop.git" };
  const project = await make("/api/projects", { name: label, git, groupId: group });
  const task = await make(`/api/projects/${project}/tasks`, {});
  ids[side] = { project, group, task, delivery: await deliver(project) };
  if (side === "foreign") return;
  const member = (path: string, userId: number, permission: string) =>
    admin.expect(200, "PUT", `${path}/members/${userId}`, { permission });
  await member(`/api/projects/${project}`, userIds.viewer, "view");
  await member(`/api/projects/${project}`, userIds.manager, "manage");
  await member(`/api/groups/${group}`, userIds["group viewer"], "view");
  await member(`/api/groups/${group}`, userIds["group manager"], "manage");
}

beforeAll(async () => {
  server = await startApiServer();
  clients.anonymous = server.anonymous;
  clients.stranger = (await server.newUser("stranger")).client;
  for (const role of ["viewer", "manager", "group viewer", "group manager"] as const) {
    const { id, client } = await server.newUser(role.replace(" ", "-"));
    clients[role] = client;
    userIds[role] = id;
  }
  clients.admin = (await server.newUser("boss", "admin")).client;
  for (const [role, { scope }] of Object.entries(roles) as [RoleName, Held][]) {
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
  await makeThings("own");
  await makeThings("foreign");
  const document = await server.anonymous.expect<{ paths: Record<string, object> }>(
    200,
    "GET",
    "/api/openapi.json",
  );
  endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((name) => {
      const method = name.toUpperCase();
      return { method, path, key: `${method} ${path}` };
    }),
  );
}, 60_000);
afterAll(() => server.stop());

function nounOf(path: string): "project" | "group" | "task" | undefined {
  if (path.startsWith("/api/samples/")) return "project";
  return (["project", "group", "task"] as const).find((name) => path.startsWith(`/api/${name}s/`));
}

function idOf(path: string, side: Side): number {
  const noun = path.startsWith("/api/webhooks/deliveries/") ? "delivery" : nounOf(path);
  return noun ? ids[side][noun] : missing;
}

/** Parameters beside the project or group name things that are not there, so that an allowed call changes nothing. */
function concrete(path: string, side: Side, id = idOf(path, side)): string {
  return path
    .replace("{id}", String(id))
    .replace("{userId}", String(missing))
    .replace("{name}", "NOT_THERE")
    .replace("{kind}", "status-token");
}

const destroys = new Set(["DELETE /api/projects/{id}", "DELETE /api/groups/{id}"]);
/** These succeed without a body and would end what the other calls need. */
const endsTheSession = new Set(["POST /api/auth/logout"]);

test("every endpoint has an expectation, and every expectation an endpoint", () => {
  expect(Object.keys(expectations).sort()).toEqual(endpoints.map(({ key }) => key).sort());
});

describe("each endpoint admits exactly whom it should", () => {
  const sides: Side[] = ["own", "foreign"];
  for (const [key, expectation] of Object.entries(expectations)) {
    test(`${key}: ${expectation}`, async () => {
      const [method = "", path = ""] = key.split(" ");
      const seen: Record<string, Outcome> = {};
      const wanted: Record<string, Outcome> = {};
      for (const side of sides) {
        for (const role of Object.keys(roles) as RoleName[]) {
          const outcome = expected(role, method, expectation, side);
          if (endsTheSession.has(key) && outcome === "allowed") continue;
          wanted[`${role}, ${side}`] = outcome;
          seen[`${role}, ${side}`] = outcomeOf(await clients[role].request(method, concrete(path, side)));
          if (destroys.has(key) && outcome === "allowed") await makeThings(side);
        }
      }
      expect(seen).toEqual(wanted);
    }, 30_000);
  }
});

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
    expect(await seen("admin", path)).toContain(ids.foreign[noun]);
    const own = await seen("group viewer", path);
    expect(own).toContain(ids.own[noun]);
    expect(own).not.toContain(ids.foreign[noun]);
    const filtered = `projectId=${ids.foreign.project}`;
    if (path === "/api/tasks" || path === "/api/webhooks/deliveries")
      expect(await clients.viewer.expect(200, "GET", `${path}?${filtered}`)).toMatchObject({ total: 0 });
  }
});

test("a project and a group say what the caller may do with them, in lists as by themselves", async () => {
  for (const noun of ["project", "group"] as const)
    for (const [role, held] of Object.entries(roles).filter(([, { scope }]: [string, Held]) => !scope)) {
      if (held[noun] === "") continue;
      const client = clients[role as RoleName];
      const path = `/api/${noun}s`;
      expect(await client.expect(200, "GET", `${path}/${ids.own[noun]}`)).toMatchObject({
        permission: held[noun],
      });
      const { items } = await client.expect<{ items: { id: number }[] }>(200, "GET", `${path}?pageSize=200`);
      expect(items.find(({ id }) => id === ids.own[noun])).toMatchObject({ permission: held[noun] });
    }
});

describe("a stranger learns nothing", () => {
  /** An answer without the numbers that it was asked with, and without what differs from call to call. */
  const told = ({ status, headers, text }: Answer) => {
    const { date: _date, "x-request-id": _id, ...rest } = Object.fromEntries(headers);
    return [status, text.replaceAll(/\d+/g, "#"), { ...rest, "content-length": "" }];
  };

  test("of whether a thing exists that they may not see, whatever they ask of it", async () => {
    for (const { method, path, key } of endpoints) {
      if (!path.includes("{id}") || expectations[key] === "session") continue;
      const body = method === "GET" ? undefined : {};
      for (const role of ["anonymous", "stranger", "viewer", "group manager"] as const) {
        const ask = async (id?: number) =>
          told(await clients[role].request(method, concrete(path, "foreign", id), body));
        expect([key, role, await ask()]).toEqual([key, role, await ask(missing)]);
      }
    }
  }, 60_000);

  test("nor of a group that a body names", async () => {
    const git = { url: "https://git.example.com/shop.git" };
    for (const groupId of [ids.foreign.group, missing]) {
      const create = await clients["group manager"].request("POST", "/api/projects", {
        name: "x",
        git,
        groupId,
      });
      const move = await clients.manager.request("PATCH", `/api/projects/${ids.own.project}`, { groupId });
      for (const { status, text } of [create, move])
        expect([status, text]).toEqual([
          404,
          expect.stringContaining(`no group ${groupId} that you may see`),
        ]);
    }
  });

  test("nor by HEAD, by methods that there are not, or by a slash more", async () => {
    for (const { path } of endpoints.filter(({ method }) => method === "GET"))
      for (const role of ["anonymous", "stranger"] as const) {
        const where = concrete(path, "foreign");
        const status = async (method: string, at: string) => (await clients[role].request(method, at)).status;
        expect([where, await status("HEAD", where)]).toEqual([where, await status("GET", where)]);
        expect([where, await status("PROPFIND", where)]).toEqual([where, 404]);
        expect([where, await status("GET", `${where}/`)]).toEqual([where, 404]);
      }
  });
});
