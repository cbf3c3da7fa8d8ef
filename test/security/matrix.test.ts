import { describe, expect, test } from "bun:test";
import { systemClock } from "../../src/clock.ts";
import { userPassword } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { RawSocket, upgradeHeaders } from "../support/raw-socket.ts";

const apiKey = "the-key-of-a-service";
const metricsToken = "the-token-of-prometheus";

/**
 * All kinds of callers. An "app user" has a code for the push gateway and nothing else, a "service" a key of
 * push.api-keys. test/api/permissions.test.ts calls the management API as all of them.
 */
const callerNames = [
  "anonymous",
  "app user",
  "viewer",
  "manager",
  "runner",
  "service",
  "prometheus",
  "admin",
] as const;
type CallerName = (typeof callerNames)[number];

/**
 * Who may call each route of the server itself, beside the management API. A route that is missing here fails the
 * first test: say who may call it.
 */
const routeAccess: Record<string, "everybody" | "api" | "hook" | "code" | CallerName> = {
  "* /livez": "everybody",
  "* /readyz": "everybody",
  "* /docs": "everybody",
  "* /schemas/pipeline.json": "everybody",
  "GET /manual": "everybody",
  "GET /manual/*": "everybody",
  "GET /docs/push": "everybody",
  "GET /docs/push/openapi.json": "everybody",
  "* /metrics": "prometheus",
  "* /ws": "code",
  "* /sse": "code",
  "* /feign": "service",
  "* /feign/*": "service",
  "* /feign/publish": "service",
  "* /feign/publishBatch": "service",
  "* /feign/getOnlineUsers": "service",
  "* /feign/getChannelUsers": "service",
  "* /feign/disconnect": "service",
  "* /feign/connections": "service",
  "* /feign/messages": "service",
  "* /feign/messages/:id": "service",
  "* /feign/channels/join": "service",
  "* /feign/channels/leave": "service",
  "* /feign/channels/grant": "service",
  "* /feign/client-messages": "service",
  "* /api/hooks/git": "hook",
  "* /api/hooks/git/*": "hook",
  "POST /api/runner/hello": "runner",
  "POST /api/runner/claim": "runner",
  "POST /api/runner/beat": "runner",
  "POST /api/runner/log": "runner",
  "POST /api/runner/stage": "runner",
  "POST /api/runner/pipeline": "runner",
  "POST /api/runner/output-text": "runner",
  "POST /api/runner/output-wanted": "runner",
  "POST /api/runner/services": "runner",
  "POST /api/runner/rollback": "runner",
  "POST /api/runner/transfer": "runner",
  "POST /api/runner/transfer-end": "runner",
  "POST /api/runner/transfer-part": "runner",
  "PUT /api/runner/transfer-sent/:id/:part": "runner",
  "POST /api/runner/finish": "runner",
  "* /api/*": "api",
};

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** The secret of each caller; it is sent in every place where an endpoint could accept one. */
const secrets = { anonymous: "", service: apiKey, prometheus: metricsToken } as Record<CallerName, string>;

async function newCode(): Promise<string> {
  const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
    userId: "customer-7",
  });
  return code;
}

async function tokenOf(username: string): Promise<string> {
  const body = { username, password: userPassword };
  const { token } = await server.anonymous.expect<{ token: string }>(200, "POST", "/api/auth/login", body);
  return token;
}

const server = await setUpApi(
  {
    "push.api-keys": [apiKey],
    "metrics.token": metricsToken,
    "push.drain-delay": 0,
    "push.drain-period": 0,
  },
  systemClock,
  "start",
);
const viewer = await server.newUser("viewer");
const manager = await server.newUser("manager");
await server.newUser("boss", "admin");
secrets.viewer = await tokenOf("viewer");
secrets.manager = await tokenOf("manager");
secrets.admin = await tokenOf("boss");
secrets["app user"] = await newCode();
const runner = await server.admin.expect<{ token: string }>(201, "POST", "/api/runners", {
  name: "matrix",
});
secrets.runner = runner.token;
const project = { name: "shop", git: { url: "https://git.example.com/shop.git" } };
const projectId = (await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", project)).id;
await server.admin.expect(200, "PUT", `/api/projects/${projectId}/webhook`, { enabled: true });
for (const [permission, { id }] of [
  ["view", viewer],
  ["manage", manager],
] as const)
  await server.admin.expect(200, "PUT", `/api/projects/${projectId}/members/${id}`, { permission });

function headersOf(caller: CallerName): Record<string, string> {
  const secret = secrets[caller];
  return secret === "" ? {} : { authorization: `Bearer ${secret}`, "x-api-key": secret };
}

/** Ends an endless stream. */
async function statusOf(caller: CallerName, method: string, path: string): Promise<number> {
  const controller = new AbortController();
  const answer = await fetch(server.url + path, {
    method,
    headers: headersOf(caller),
    signal: controller.signal,
    redirect: "manual",
  });
  controller.abort();
  return answer.status;
}

const isRefused = (status: number) => status === 401 || status === 403;

test("every route of the server has an expectation, and every expectation a route", () => {
  expect(Object.keys(routeAccess).sort()).toEqual([...server.app.routes].sort());
});

describe("each route admits exactly whom it should, by any method", () => {
  for (const [route, access] of Object.entries(routeAccess)) {
    if (access === "api" || access === "code" || access === "hook") continue;
    test(`${route}: ${access}`, async () => {
      const [only = "", pattern = ""] = route.split(" ");
      const path = pattern.replace("*", "anything");
      const seen: Record<string, string> = {};
      const wanted: Record<string, string> = {};
      for (const method of only === "*" ? methods : [only])
        for (const caller of callerNames) {
          const name = `${caller}, ${method}`;
          const isAdmitted = access === "everybody" || access === caller;
          const status = await statusOf(caller, method, path);
          expect([name, status < 500]).toEqual([name, true]);
          seen[name] = isRefused(status) ? "refused" : "admitted";
          wanted[name] = isAdmitted ? "admitted" : "refused";
        }
      expect(seen).toEqual(wanted);
    });
  }
});

test.each([
  ["/ws", 101],
  ["/sse", 200],
])("%s: a connection is opened by a code alone, once, and by no other secret", async (path, status) => {
  const opened: Record<string, number> = {};
  for (const caller of callerNames) {
    const code = caller === "app user" ? await newCode() : secrets[caller];
    const socket = new RawSocket(server.app.port);
    socket.request("GET", `${path}?code=${code}`, { ...upgradeHeaders, ...headersOf(caller) });
    opened[caller] = (await socket.answer()).status;
    socket.end();
    const again = new RawSocket(server.app.port);
    again.request("GET", `${path}?code=${code}`, upgradeHeaders);
    expect([400, 401]).toContain((await again.answer()).status);
    again.end();
  }
  const refused = Object.fromEntries(
    callerNames.map((caller) => [caller, caller === "anonymous" ? 400 : 401]),
  );
  expect(opened).toEqual({ ...refused, "app user": status });
});

test("a hook admits every caller with its address, by POST, and does not reveal its existence to others", async () => {
  const { key } = await server.admin.expect<{ key: string }>(
    200,
    "GET",
    `/api/projects/${projectId}/webhook`,
  );
  for (const caller of callerNames) {
    expect([caller, await statusOf(caller, "POST", `/api/hooks/git/${key}`)]).toEqual([caller, 400]);
    for (const path of [
      "/api/hooks/git",
      "/api/hooks/git/",
      "/api/hooks/git/unknown",
      `/api/hooks/git/${key}x`,
    ])
      expect([caller, path, await statusOf(caller, "POST", path)]).toEqual([caller, path, 404]);
    for (const method of methods.filter((name) => name !== "POST"))
      expect([method, await statusOf(caller, method, `/api/hooks/git/${key}`)]).toEqual([method, 405]);
  }
});

test("what no route matches is the console's page for a browser and 404 for everybody else", async () => {
  for (const caller of callerNames) {
    for (const path of [
      "/nothing",
      "/assets/nothing.js",
      "/api/nothing",
      "/api/runner/nothing",
      "/.env",
      "/data/slipway.db",
    ])
      for (const method of methods)
        expect([caller, method, path, await statusOf(caller, method, path)]).toEqual([
          caller,
          method,
          path,
          404,
        ]);
  }
  const page = await server.anonymous.request("GET", "/projects/1", undefined, { accept: "text/html" });
  expect(page.status).toBe(200);
});

test("other spellings of a guarded path are not a way around its guard", async () => {
  const guarded = ["/feign/getOnlineUsers", "/metrics", "/api/users", "/api/runner/claim"];
  for (const path of guarded) {
    const spellings = [
      `/${path}`,
      `${path}/`,
      `/.${path}`,
      `/x/..${path}`,
      path.toUpperCase(),
      path.replace("/", "/%2e/"),
      `/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`,
      path.replace(/\/([^/]*)$/, "%2F$1"),
      `${path};x`,
      `${path}%00`,
      `${path}?x=/livez`,
    ];
    for (const spelling of spellings) {
      const socket = new RawSocket(server.app.port);
      socket.request("GET", spelling, { Accept: "*/*" });
      const { status, body } = await socket.answer();
      socket.end();
      const isSafe = [400, 401, 403, 404, 405].includes(status);
      expect([spelling, isSafe, body.includes('successful":true')]).toEqual([spelling, true, false]);
    }
  }
});
