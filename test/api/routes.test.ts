import { afterAll, describe, expect, test } from "bun:test";
import { runnerFeatures } from "../../src/runner/protocol.ts";
import { signInAt, userPassword } from "../support/api-server.ts";
import { startServiceScene } from "../support/service-scene.ts";

type Answer = { id: number; publicUrl: string; allowedDomains: string[] | null };
type Fields = { error: { message: string; fields: { field: string; message: string }[] } };

const scene = await startServiceScene();
const { server } = scene;
afterAll(() => server.stop());
const git = { url: "https://git.example.com/shop.git" };
let count = 0;
const webWith = (...domains: string[]) => ({
  start: { web: { command: "node a.js", routes: domains.map((domain) => ({ domains: [domain] })) } },
});
const added = (body: object) => ({ name: `routes ${++count}`, git, ...body });
/** Somebody who manages this group and sees nothing else. */
async function managerOf(groupId: number, at = server) {
  const username = `manager-${groupId}`;
  const { id } = await at.admin.expect<{ id: number }>(201, "POST", "/api/users", {
    ...{ username, password: userPassword },
  });
  await at.admin.expect(200, "PUT", `/api/groups/${groupId}/members/${id}`, { permission: "manage" });
  return signInAt(at.url, username, userPassword);
}
const field = "pipeline.start.web.routes.0.domains.0";

describe("domains of routes", () => {
  test("belong to one project; its name is for those who may see it", async () => {
    const { id: groupId } = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", {
      name: "g1",
    });
    const first = added({ pipeline: webWith("one.example.com") });
    await server.admin.expect(201, "POST", "/api/projects", first);
    const wanted = added({ pipeline: webWith("one.example.com"), groupId });
    const refused = await server.admin.expect<Fields>(422, "POST", "/api/projects", wanted);
    expect(refused.error.fields).toMatchObject([{ field, message: expect.stringContaining(first.name) }]);
    const manager = await managerOf(groupId);
    const hidden = await manager.expect<Fields>(422, "POST", "/api/projects", wanted);
    expect(hidden.error.fields).toMatchObject([
      { field, message: "cannot be used: another project has a route for one.example.com" },
    ]);
  });

  test("are those that an administrator has allowed for the project or its group", async () => {
    const group = { name: "g2", allowedDomains: ["*.example.org"] };
    const { id: groupId } = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", group);
    const manager = await managerOf(groupId);
    const other = added({ groupId, pipeline: webWith("shop.example.net") });
    const { error } = await manager.expect<Fields>(422, "POST", "/api/projects", other);
    expect(error.fields).toMatchObject([{ field, message: expect.stringContaining("(*.example.org)") }]);
    const own = added({ groupId, pipeline: webWith("shop.example.org") });
    const { id } = await manager.expect<Answer>(201, "POST", "/api/projects", own);
    const change = (status: 200 | 403 | 422, body: object, by = manager) =>
      by.expect<Answer>(status, "PATCH", `/api/projects/${id}`, body);
    await change(403, { allowedDomains: ["shop.example.net"] });
    await manager.expect(403, "PATCH", `/api/groups/${groupId}`, { allowedDomains: null });
    await change(422, { pipeline: webWith("shop.example.net") });
    const { allowedDomains } = await change(200, { allowedDomains: ["shop.example.net"] }, server.admin);
    expect(allowedDomains).toEqual(["shop.example.net"]);
    await change(200, { pipeline: webWith("shop.example.net", "shop.example.org") });
    // What it has stays, although it is no longer allowed.
    await change(200, { allowedDomains: [] }, server.admin);
    await change(200, { pipeline: webWith("shop.example.net") });
    await change(422, { pipeline: webWith("other.example.net") });
  });

  test("of environments are those that are allowed, also after a change of the group", async () => {
    const groupWith = async (name: string, domain: string) => {
      const body = { name, allowedDomains: [domain] };
      return (await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", body)).id;
    };
    const groupId = await groupWith("g3", "*.example.org");
    const otherId = await groupWith("g4", "*.example.net");
    const manager = await managerOf(groupId);
    const self = await manager.expect<{ id: number }>(200, "GET", "/api/auth/me");
    const member = `/api/groups/${otherId}/members/${self.id}`;
    await server.admin.expect(200, "PUT", member, { permission: "manage" });
    const inFile = (domain: string) =>
      added({
        ...{ groupId, pipeline: { from: "repository" } },
        environments: [{ name: "live", refs: ["main"], domains: { "a.example.org": domain } }],
      });
    const fields = [{ field: "environments.0.domains", message: expect.stringContaining("(*.example.org)") }];
    const refused = await manager.expect<Fields>(422, "POST", "/api/projects", inFile("login.example.com"));
    expect(refused.error.fields).toMatchObject(fields);
    const { id } = await manager.expect<Answer>(201, "POST", "/api/projects", inFile("b.example.org"));
    const change = (status: 200 | 422, body: object, by = manager) =>
      by.expect<Fields>(status, "PATCH", `/api/projects/${id}`, body);
    const { environments } = inFile("login.example.com") as { environments?: object[] };
    expect((await change(422, { environments })).error.fields).toMatchObject(fields);
    await change(422, { groupId: otherId });
  });

  test("are none for managers with routes.anyDomain: false, until an administrator allows some", async () => {
    const { server: strict } = await startServiceScene({ "routes.anyDomain": false });
    try {
      const { admin } = strict;
      const { id: groupId } = await admin.expect<Answer>(201, "POST", "/api/groups", { name: "strict" });
      const manager = await managerOf(groupId, strict);
      const wanted = added({ groupId, pipeline: webWith("shop.example.com") });
      const { error } = await manager.expect<Fields>(422, "POST", "/api/projects", wanted);
      expect(error.fields).toMatchObject([
        {
          field,
          message:
            "is not allowed: an administrator must first allow domains in the project or its group (allowedDomains)",
        },
      ]);
      const { id } = await manager.expect<Answer>(201, "POST", "/api/projects", added({ groupId }));
      const change = (status: 200 | 422, by = manager) =>
        by.expect(status, "PATCH", `/api/projects/${id}`, { pipeline: webWith("shop.example.com") });
      await change(422);
      // An administrator may use any; what the project has by that, its managers keep.
      await change(200, admin);
      await change(200);
      await admin.expect(200, "PATCH", `/api/groups/${groupId}`, { allowedDomains: ["*.example.net"] });
      const allowed = added({ groupId, pipeline: webWith("shop.example.net") });
      await manager.expect(201, "POST", "/api/projects", allowed);
    } finally {
      await strict.stop();
    }
  });

  test("give the project its address, unless it has one of its own", async () => {
    const { id, publicUrl } = await server.admin.expect<Answer>(201, "POST", "/api/projects", {
      ...added({ pipeline: webWith("address.example.com") }),
    });
    expect(publicUrl).toBe("https://address.example.com/");
    const change = async (body: object) =>
      (await server.admin.expect<Answer>(200, "PATCH", `/api/projects/${id}`, body)).publicUrl;
    // A form sends back what it was shown: the address goes on following the route.
    expect(await change({ publicUrl })).toBe(publicUrl);
    expect(await change({ pipeline: webWith("moved.example.com") })).toBe("https://moved.example.com/");
    expect(await change({ publicUrl: "https://cdn.example.com" })).toBe("https://cdn.example.com");
  });
});

test("the routes of a project have their states, with what is wrong in words", async () => {
  const deployed = await scene.deployed(["web"], { name: "stated" });
  const path = `/api/projects/${deployed.projectId}`;
  const web = {
    command: "node a.js",
    routes: [
      { domains: ["state.example.com", "new.example.com"] },
      { domains: ["off.example.com"], tls: "off" },
    ],
  };
  await server.admin.expect(200, "PATCH", path, { pipeline: { start: { web } } });
  const until = "2027-01-31T00:00:00.000Z";
  const reported = (domain: string, reason: string | null) => ({
    ...{ domain, path: "/", url: `https://${domain}/`, certificateUntil: until },
    fault: reason === null ? null : { reason },
  });
  const routes = [reported("state.example.com", null), reported("old.example.com", null)];
  const off = reported("off.example.com", "Port 80 is taken by nginx (pid 7).");
  await scene.report(scene.service(deployed, { routes: [...routes, off] }));
  const { routes: listed } = await server.admin.expect<{ routes: object[] }>(200, "GET", `${path}/routes`);
  expect(listed).toMatchObject([
    { service: "web", domain: "state.example.com", state: "ok", fault: "", certificateUntil: until },
    { domain: "new.example.com", state: "waiting", fault: "The next deploy makes this route." },
    { domain: "off.example.com", state: "fault", url: "http://off.example.com/", fault: off.fault?.reason },
    { domain: "old.example.com", state: "removed" },
  ]);
});

test("the guided set-up knows the proxy of the runners, or how to get one", async () => {
  const url = "https://git.invalid/shop.git";
  const asked = async (reported: object) => {
    await scene.runner.post("hello", {
      ...{ labels: [], concurrency: 1, version: "test", features: runnerFeatures, ...reported },
    });
    const body = { url };
    return (await server.admin.expect<{ proxy: object }>(200, "POST", "/api/repositories/inspect", body))
      .proxy;
  };
  const proxyNote = { reason: "Caddy 2.8 or newer is not installed" };
  expect(await asked({ proxyNote })).toMatchObject({ name: null, note: proxyNote.reason });
  expect(await asked({ proxy: "caddy" })).toMatchObject({ name: "caddy", note: "" });
});

test("figures of requests are summed since the release that serves began", async () => {
  const deployed = await scene.deployed(["web"], { name: "asked" });
  const begin = Math.floor(Date.now() / 60_000) * 60_000;
  const figures = (minute: number, serverError: number) => ({
    ...{
      from: new Date(begin + minute * 60_000).toISOString(),
      to: new Date(begin + (minute + 1) * 60_000).toISOString(),
    },
    ...{
      count: 100,
      success: 100 - serverError,
      redirect: 0,
      clientError: 0,
      serverError,
      p50Ms: 3,
      p95Ms: 40,
    },
  });
  for (const requests of [figures(-120, 0), figures(1, 3), null])
    await scene.report(scene.service(deployed, { requests }));
  const answer = await server.admin.expect<object>(
    200,
    "GET",
    `/api/projects/${deployed.projectId}/services/web/requests`,
  );
  expect(answer).toMatchObject({
    total: { count: 200, serverError: 3, p50Ms: 3, p95Ms: 40 },
    releases: [{ taskId: deployed.taskId }],
    sinceRelease: { taskId: deployed.taskId, count: 100, serverError: 3 },
  });
});
