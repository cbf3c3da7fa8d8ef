import { describe, expect, test } from "bun:test";
import type { ApiClient } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { failureOf } from "../support/failure.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";

const server = await setUpApi(
  { "push.drain-delay": 0, "push.drain-period": 0, "push.max-message-bytes": 1_200_000 },
  undefined,
  "start",
);
const wsUrl = `${server.url.replace("http", "ws")}/ws`;

const codeOf = async (client: ApiClient, body: object = {}) =>
  (await client.expect<{ code: string; expiresIn: number }>(201, "POST", "/api/push/codes", body)).code;

/** Rejects if the code is refused. */
const connect = (code: string, query = "", protocols: string[] = []) =>
  PushClient.open(`${wsUrl}?code=${code}${query}`, protocols);

async function newProject(name: string): Promise<number> {
  const body = { name, git: { url: "https://git.example.com/shop.git" } };
  return (await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", body)).id;
}

describe("issued codes", () => {
  test("POST /api/push/codes returns a single-use code for the own username, valid for 60 s", async () => {
    const { client } = await server.newUser("ann");
    const { code, expiresIn } = await client.expect<{ code: string; expiresIn: number }>(
      201,
      "POST",
      "/api/push/codes",
      {},
    );
    expect(expiresIn).toBe(60);
    const connection = await connect(code);
    const online = await server.admin.expect<{ users: string[] }>(200, "GET", "/api/push/online");
    expect(online.users).toContain("ann");
    expect(String(await failureOf(connect(code)))).toContain("refused");
    connection.close();
  });

  test("a user id has at most 255 bytes, in codes and messages", async () => {
    for (const [userId, status] of [
      ["x".repeat(255), 201],
      ["x".repeat(256), 422],
      ["ü".repeat(128), 422],
    ] as const) {
      expect((await server.admin.request("POST", "/api/push/codes", { userId })).status).toBe(status);
      const message = { targetType: "user", target: userId, data: "hello" };
      const published = await server.admin.request("POST", "/api/push/publish", message);
      expect(published.status).toBe(status === 201 ? 200 : 422);
    }
  });

  test("only an admin gets a code for another userId", async () => {
    const { client } = await server.newUser("bob");
    await client.expect(403, "POST", "/api/push/codes", { userId: "somebody" });
    const connection = await connect(await codeOf(server.admin, { userId: "somebody" }));
    const published = await server.admin.expect<{ receivers: number }>(200, "POST", "/api/push/publish", {
      targetType: "user",
      target: "somebody",
      data: "hello",
    });
    expect(published.receivers).toBe(1);
    expect(await connection.received(1)).toEqual(["hello"]);
    connection.close();
  });

  test("POST /api/push/publish accepts up to max-message-bytes, counted in bytes of UTF-8", async () => {
    const publish = (data: string) =>
      server.admin.request("POST", "/api/push/publish", { targetType: "all", data });
    expect((await publish("x".repeat(1_200_000))).status).toBe(200);
    const tooLarge = await publish("漢".repeat(400_001));
    expect(tooLarge.status).toBe(413);
    expect(tooLarge.body).toMatchObject({ error: { code: "too_large" } });
    expect(tooLarge.text).toContain("push.max-message-bytes");
  });

  test("a code for the console is bound to slipway:<id>, needs temp=1, and has no maximum lifetime", async () => {
    const { id, client: session } = await server.newUser("carla");
    const body = { name: "endless", scopes: ["write"] };
    const { token } = await session.expect<{ token: string }>(201, "POST", "/api/tokens", body);
    const client = server.as(token);
    expect(String(await failureOf(connect(await codeOf(client, { for: "console" }))))).toContain("refused");
    const projectId = await newProject("quiet");
    await server.admin.expect(200, "PUT", `/api/projects/${projectId}/members/${id}`, { permission: "view" });
    const connection = await connect(await codeOf(client, { for: "console" }), "&temp=1", ["slipway.v1"]);
    const [welcome] = await connection.receivedType("welcome");
    expect(welcome).toMatchObject({
      userId: `slipway:${id}`,
      kind: "temporary",
      expiresAt: null,
      channels: [],
    });
    const online = await server.admin.expect<{ users: string[] }>(200, "GET", "/api/push/online");
    expect(online.users).not.toContain(`slipway:${id}`);
    const figures = () =>
      server.admin.expect<{ published: number; console: number }>(200, "GET", "/api/push/connections");
    const before = await figures();
    expect(before.console).toBe(1);
    // What applications send to all is not for the console, and what is for the console is no message of theirs.
    const toAll = { targetType: "all", target: "", data: "news" };
    expect(await server.admin.expect<object>(200, "POST", "/api/push/publish", toAll)).toMatchObject({
      receivers: 0,
    });
    connection.send(JSON.stringify({ type: "join", channel: `private-project-${projectId}` }));
    await connection.receivedType("joined");
    await server.admin.expect(201, "POST", `/api/projects/${projectId}/tasks`, {});
    await eventually("the console hears of the task", () => connection.messages.length > 0);
    expect(connection.messages).not.toContain("news");
    expect((await figures()).published).toBe(before.published + 1);
    connection.close();
  });

  test("a console connection is granted the private channels of the projects that its user may view, and follows changes", async () => {
    const [mine, other] = [await newProject("mine"), await newProject("other")];
    const { id, client } = await server.newUser("dora");
    await server.admin.expect(200, "PUT", `/api/projects/${mine}/members/${id}`, { permission: "view" });
    const connection = await connect(await codeOf(client, { for: "console" }), "&temp=1", ["slipway.v1"]);
    await connection.receivedType("welcome");
    const join = (channel: string) => connection.send(JSON.stringify({ type: "join", channel }));

    join(`private-project-${mine}/task-7`);
    expect(await connection.receivedType("joined")).toEqual([
      { type: "joined", channel: `private-project-${mine}/task-7` },
    ]);
    join(`private-project-${other}`);
    expect(await connection.receivedType("error")).toMatchObject([{ code: "channel_not_allowed" }]);

    await server.admin.expect(200, "PUT", `/api/projects/${other}/members/${id}`, { permission: "view" });
    await eventually("the new project is granted", async () => {
      const answers = () => connection.ofType("joined").length + connection.ofType("error").length;
      const before = answers();
      join(`private-project-${other}`);
      await eventually("it is answered", () => answers() > before);
      return connection.ofType("joined").length > 1;
    });

    await server.admin.expect(204, "DELETE", `/api/projects/${mine}/members/${id}`);
    expect(await connection.receivedType("left")).toEqual([
      { type: "left", channel: `private-project-${mine}/task-7` },
    ]);

    await server.admin.expect(200, "PATCH", `/api/users/${id}`, { disabled: true });
    expect((await connection.ended()).code).toBe(4004);
  });

  test("/api/push/verify verifies these codes for a push role in another process", async () => {
    const push = await startPushApp({
      "push.verify-uri": `${server.url}/api/push/verify`,
      "push.verify-method": "POST",
    });
    const { id, client } = await server.newUser("eve");
    const console = await PushClient.open(
      `${push.wsUrl}?temp=1&code=${await codeOf(client, { for: "console" })}`,
      ["slipway.v1"],
    );
    const [welcome] = await console.receivedType("welcome");
    expect(welcome).toMatchObject({ userId: `slipway:${id}` });
    // The connection ends with the session, after twelve hours; the margin covers the duration of the calls.
    expect(Math.abs(Number(welcome?.expiresAt) - Date.now() - 12 * 3_600_000)).toBeLessThan(60_000);
    await PushClient.open(`${push.wsUrl}?code=${await codeOf(client)}`);
    expect(await push.online()).toEqual(["eve"]);
    expect(String(await failureOf(PushClient.open(`${push.wsUrl}?code=slpc_unknown`)))).toContain("refused");
    await push.stop();
  });

  test("an admin can call disconnect, connections and online as on /feign", async () => {
    const connection = await connect(await codeOf(server.admin, { userId: "fred" }), "&channel=news");
    const report = await server.admin.expect<{ connections: { connectionId: string }[] }>(
      200,
      "GET",
      "/api/push/connections?userId=fred",
    );
    expect(report.connections).toMatchObject([{ userId: "fred", kind: "normal", channels: ["news"] }]);
    await server.admin.expect(200, "POST", "/api/push/disconnect", {
      connectionId: report.connections[0]?.connectionId,
    });
    expect((await connection.ended()).code).toBe(4004);
  });
});
