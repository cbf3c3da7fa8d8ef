import { describe, expect, test } from "bun:test";
import { manualClock, systemClock } from "../../src/clock.ts";
import { type ApiClient, startApiServer } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const quick = { "runner.enabled": false, "push.drain-delay": 0, "push.drain-period": 0 };

const server = await setUpApi(quick, systemClock, "start");
const body = { name: "shop", git: { url: "https://git.example.com/shop.git" } };
const projectId = (await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", body)).id;

const memberPath = (id: number) => `/api/projects/${projectId}/members/${id}`;

async function codeFor(client: ApiClient): Promise<string> {
  const { code } = await client.expect<{ code: string }>(201, "POST", "/api/push/codes", { for: "console" });
  return code;
}

function liveUrl(code: string, { url } = server): string {
  const channel = encodeURIComponent(`private-project-${projectId}`);
  return `${url.replace("http", "ws")}/ws?code=${code}&temp=1&channel=${channel}`;
}

/** A live connection as the console opens it. */
async function openConsole(client: ApiClient, at = server): Promise<PushClient> {
  const socket = await PushClient.open(liveUrl(await codeFor(client), at), ["slipway.v1"]);
  await socket.receivedType("welcome");
  return socket;
}

async function isAdmitted(code: string, at = server): Promise<boolean> {
  const socket = await PushClient.open(liveUrl(code, at), ["slipway.v1"]).catch(() => null);
  socket?.socket.close();
  return socket !== null;
}

async function viewer(username: string) {
  const user = await server.newUser(username);
  await server.admin.expect(200, "PUT", memberPath(user.id), { permission: "view" });
  return { ...user, socket: await openConsole(user.client) };
}

const isSentAway = (socket: PushClient) =>
  eventually("the connection ends", () => socket.closed !== null).then(() => socket.closed?.code);

describe("a live connection of the console", () => {
  test("leaves a project after its user is no longer a member", async () => {
    const { id, client, socket } = await viewer("former-member");
    await server.admin.expect(204, "DELETE", memberPath(id));
    await socket.receivedType("left");
    const again = await openConsole(client);
    await again.receivedType("error");
    expect(again.ofType("joined")).toEqual([]);
    again.socket.close();
  });

  test("is closed when its user is disabled, and cannot be opened again", async () => {
    const { id, client, socket } = await viewer("disabled-member");
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, { disabled: true });
    expect(await isSentAway(socket)).toBe(4004);
    expect((await client.request("POST", "/api/push/codes", { for: "console" })).status).toBe(401);
  });

  test("is closed when its user signs out", async () => {
    const { client, socket } = await viewer("leaver");
    await client.expect(204, "POST", "/api/auth/logout");
    expect(await isSentAway(socket)).toBe(1012);
  });

  test("is not admitted by an earlier code after its user lost a project, a session or the account", async () => {
    const { id, client } = await viewer("code-holder");
    const changes = [
      () => server.admin.expect(204, "DELETE", memberPath(id)),
      () => client.expect(204, "POST", "/api/auth/logout"),
    ];
    for (const change of changes) {
      const code = await codeFor(client);
      await change();
      expect(await isAdmitted(code)).toBe(false);
    }
    const gone = await viewer("gone");
    const code = await codeFor(gone.client);
    await server.admin.expect(204, "DELETE", `/api/users/${gone.id}`);
    expect(await isAdmitted(code)).toBe(false);
  });

  test("is closed when its token is revoked", async () => {
    const { client } = await viewer("token-owner");
    const body = { name: "live", scopes: ["write"], expiresAt: null };
    const made = await client.expect<{ id: number; token: string }>(201, "POST", "/api/tokens", body);
    const socket = await openConsole(server.as(made.token));
    await client.expect(204, "DELETE", `/api/tokens/${made.id}`);
    expect(await isSentAway(socket)).toBe(1012);
  });

  test("of a token receives the projects that the token can read, before and after a change of the user's role", async () => {
    const { id, client } = await server.newUser("token-admin", "admin");
    const body = { name: "live", scopes: ["write"] };
    const { token } = await client.expect<{ token: string }>(201, "POST", "/api/tokens", body);
    const holder = server.as(token);
    const reads = async () => (await holder.request("GET", `/api/projects/${projectId}`)).status === 200;
    const channel = `private-project-${projectId}`;
    const before = await openConsole(holder);
    expect(await reads()).toBe(true);
    expect(before.ofType("welcome")).toMatchObject([{ channels: [channel] }]);
    await server.admin.expect(200, "PATCH", `/api/users/${id}`, { role: "user" });
    await before.receivedType("left");
    const after = await openConsole(holder);
    expect(await reads()).toBe(false);
    expect(after.ofType("welcome")).toMatchObject([{ channels: [] }]);
    for (const socket of [before, after]) socket.close();
  });

  test("joins a new project of the user's group, and leaves a project that left the group", async () => {
    const group = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "team" });
    const user = await server.newUser("group-member");
    await server.admin.expect(200, "PUT", `/api/groups/${group.id}/members/${user.id}`, {
      permission: "view",
    });
    const socket = await openConsole(user.client);
    await socket.receivedType("error");
    const join = () => socket.send(JSON.stringify({ type: "join", channel: `private-project-${projectId}` }));
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { groupId: group.id });
    await eventually("the channel is granted", async () => {
      join();
      await Bun.sleep(50); // Paced: the limit of client messages would end the connection.
      return socket.ofType("joined").length > 0;
    });
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, { groupId: null });
    await socket.receivedType("left");
    socket.close();
  });
});

describe("a live connection ends with its credential", async () => {
  const clock = manualClock();
  const hourMs = 3_600_000;

  // Pings are not answered while the clock jumps.
  const settings = { ...quick, "auth.sessionHours": 1, "push.pong-timeout": 24 * hourMs };
  const timed = await setUpApi(settings, clock, "start");

  const tokenFor = async (minutes: number | null) => {
    const expiresAt = minutes === null ? null : new Date(clock.now() + minutes * 60_000).toISOString();
    const body = { name: "live", scopes: ["write"], expiresAt };
    const { token } = await timed.admin.expect<{ token: string }>(201, "POST", "/api/tokens", body);
    return timed.as(token);
  };

  test("and a code of this credential admits no connection after that", async () => {
    const code = await codeFor(await tokenFor(0.5));
    clock.advance(30_000);
    expect(await isAdmitted(code, timed)).toBe(false);
  });

  test("a token or a session, and other connections of the user stay open", async () => {
    const [brief, endless] = [await tokenFor(10), await tokenFor(null)];
    const views = {
      brief: await openConsole(brief, timed),
      endless: await openConsole(endless, timed),
      session: await openConsole(timed.admin, timed),
    };
    expect(views.brief.ofType("welcome")).toMatchObject([{ expiresAt: clock.now() + 10 * 60_000 }]);
    expect(views.endless.ofType("welcome")).toMatchObject([{ expiresAt: null }]);

    clock.advance(10 * 60_000);
    expect(await isSentAway(views.brief)).toBe(4003);
    clock.advance(hourMs);
    expect(await isSentAway(views.session)).toBe(4003);
    expect(views.endless.closed).toBeNull();
    views.endless.close();
  });
});

describe("if a separate push role cannot be reached", () => {
  test("a user whose change did not reach it is disconnected once it is back, and reconnects with the current permissions", async () => {
    const port = freePort();
    const wire = startTcpProxy({ hostname: "127.0.0.1", port });
    const deploy = await startApiServer({ "deploy.push.url": `http://127.0.0.1:${wire.port}` });
    const push = await startPushApp({
      "server.listen": { host: "127.0.0.1", port },
      "push.verify-uri": `${deploy.url}/api/push/verify`,
    });
    const project = { name: "shop", git: { url: "https://git.example.com/shop.git" } };
    const { id } = await deploy.admin.expect<{ id: number }>(201, "POST", "/api/projects", project);
    const user = await deploy.newUser("ann");
    const path = `/api/projects/${id}/members/${user.id}`;
    await deploy.admin.expect(200, "PUT", path, { permission: "view" });
    const open = async () => {
      const url = `${push.wsUrl}?temp=1&channel=private-project-${id}&code=${await codeFor(user.client)}`;
      const socket = await PushClient.open(url, ["slipway.v1"]);
      const [welcome] = await socket.receivedType("welcome");
      return { socket, channels: welcome?.channels };
    };
    const before = await open();
    expect(before.channels).toEqual([`private-project-${id}`]);

    wire.cut();
    await deploy.admin.expect(204, "DELETE", path);
    await eventually("the failed change is logged", () =>
      deploy.logLines.some((line) => line.includes("did not reach the console connections")),
    );
    expect(before.socket.closed).toBeNull();
    wire.restore();
    expect(await isSentAway(before.socket)).toBe(1012);
    const after = await open();
    expect(after.channels).toEqual([]);

    after.socket.close();
    await deploy.stop();
    await push.stop();
    wire.stop();
  });
});
