import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { type FrameClient, openPlain, transports } from "../support/transports.ts";

/** One test for each sentence of the specification, named after it. */
let push: PushApp;
const clients: FrameClient[] = [];

beforeEach(async () => {
  push = await startPushApp();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await push.stop();
});

const verifyAnswer = (data: unknown) => Response.json({ code: 0, successful: true, data });

/** Restarts the service with other settings. */
async function restart(values: Parameters<typeof startPushApp>[0]): Promise<void> {
  await push.stop();
  push = await startPushApp(values);
}

describe.each(transports)("%s", (transport) => {
  async function connect(code: string, query = ""): Promise<FrameClient> {
    const client = await openPlain(transport, push.url, `?code=${code}${query}`);
    clients.push(client);
    return client;
  }

  const isRefused = (query: string, headers: Record<string, string> = {}) =>
    openPlain(transport, push.url, query, headers).then(
      () => false,
      () => true,
    );

  describe("What the service does", () => {
    test("The service keeps WebSocket connections open for users", async () => {
      const client = await connect("ann");
      await push.publish({ targetType: "user", target: "ann", data: "one" });
      await push.publish({ targetType: "user", target: "ann", data: "two" });
      expect(await client.received(2)).toEqual(["one", "two"]);
      expect(client.closed).toBeNull();
    });

    test("A connection is admitted only after a short-lived code has been verified and a userId has been returned", async () => {
      push.verify.answer = (code) => (code === "good" ? verifyAnswer("ann") : verifyAnswer(""));
      expect(await isRefused("?code=other")).toBe(true);
      await connect("good");
      expect(await push.online()).toEqual(["ann"]);
    });

    test("A message can go to all connections, to one user, to one user's temporary connections only, or to a channel", async () => {
      const ann = await connect("ann", "&channel=news");
      const bob = await connect("bob");
      const bobTemporary = await connect("bob", "&temp=1");
      await push.publish({ targetType: "all", target: "", data: "to all" });
      await push.publish({ targetType: "user", target: "bob", data: "to bob" });
      await push.publish({ targetType: "temp_user", target: "bob", data: "to bob's temporary" });
      await push.publish({ targetType: "channel", target: "news", data: "to news" });
      await push.publish({ targetType: "all", data: "end" });
      expect(await ann.received(3)).toEqual(["to all", "to news", "end"]);
      expect(await bob.received(3)).toEqual(["to all", "to bob", "end"]);
      expect(await bobTemporary.received(4)).toEqual(["to all", "to bob", "to bob's temporary", "end"]);
    });

    test("The service runs as one instance (cluster-enabled=false)", async () => {
      const answer = await push.publish({ targetType: "all", data: "x" });
      expect(answer.headers.get("x-push-receivers")).toBe("0");
    });

    test("The service reports which users are online on the current instance", async () => {
      await connect("ann");
      await connect("bob");
      expect(await push.online()).toEqual(["ann", "bob"]);
    });
  });

  describe("Connection", () => {
    test("userId: User bound to the connection, returned by code verification", async () => {
      push.verify.answer = () => verifyAnswer("the user");
      await connect("some-code");
      expect(await push.online()).toEqual(["the user"]);
    });

    test("A temporary connection is bound to a userId but marked temporary", async () => {
      const client = await connect("ann", "&temp=1");
      const sent = await push.publish({ targetType: "temp_user", target: "ann", data: "second factor" });
      expect(sent.headers.get("x-push-receivers")).toBe("1");
      expect(await client.received(1)).toEqual(["second factor"]);
    });

    test("max lifetime applies to temporary connections only; the server may set it when it marks the connection temporary", async () => {
      push.verify.answer = (code) => verifyAnswer({ userId: code, maxLifetime: 0.2 });
      const normal = await connect("ann");
      const temporary = await connect("ann", "&temp=1");
      expect((await temporary.ended()).code).toBe(4003);
      await push.publish({ targetType: "user", target: "ann", data: "still there" });
      expect(await normal.received(1)).toEqual(["still there"]);
    });
  });

  describe("Publish request body", () => {
    test.each(["all", "user", "temp_user", "channel"])("targetType: one of … %s", async (targetType) => {
      expect((await push.publish({ targetType, target: "x", data: "x" })).status).toBe(200);
    });

    test("targetType: required, and nothing else than the four", async () => {
      for (const targetType of ["everybody", "", null, 7, undefined, "ALL"])
        expect(await (await push.publish({ targetType, target: "x", data: "x" })).json()).toMatchObject({
          code: 40002,
          successful: false,
        });
    });

    test("target: a user id or a channel name; may be empty when targetType is all", async () => {
      expect((await push.publish({ targetType: "all", target: "", data: "x" })).status).toBe(200);
      expect((await push.publish({ targetType: "all", data: "x" })).status).toBe(200);
      for (const targetType of ["user", "temp_user", "channel"])
        for (const target of ["", undefined, null, 42])
          expect(await (await push.publish({ targetType, target, data: "x" })).json()).toMatchObject({
            code: 40003,
          });
    });

    test("data: message body as a string, required", async () => {
      for (const data of [undefined, null, 1, {}, ["x"], true])
        expect(await (await push.publish({ targetType: "all", data })).json()).toMatchObject({ code: 40004 });
      const client = await connect("ann");
      const awkward = ["", '{"json":"as text"}', "zwölf Boxkämpfer 🥊 \u0000 \u2028", "x".repeat(70_000)];
      for (const data of awkward) await push.publish({ targetType: "user", target: "ann", data });
      expect(await client.received(awkward.length)).toEqual(awkward);
    });
  });

  describe("Envelopes", () => {
    test("Success: code 0, successful true, msg null, data, encrypt false", async () => {
      const answer = await push.publish({ targetType: "all", data: "x" });
      expect(answer.headers.get("content-type")).toStartWith("application/json");
      expect(await answer.text()).toBe(
        '{"code":0,"successful":true,"msg":null,"data":"publish success","encrypt":false}',
      );
      await connect("ann");
      expect(await (await push.get("/feign/getOnlineUsers")).text()).toBe(
        '{"code":0,"successful":true,"msg":null,"data":["ann"],"encrypt":false}',
      );
    });

    test("Failure: code non-zero, successful false, message text, and nothing else", async () => {
      const answers = [
        await push.publish("not json"),
        await push.publish({ targetType: "nobody" }),
        await push.get("/feign/publish"),
        await push.get("/feign/nothing"),
        await push.get("/ws?code=ann"),
        await push.get("/sse?code=bad"),
      ];
      for (const answer of answers) {
        const body = (await answer.json()) as Record<string, unknown>;
        expect(Object.keys(body)).toEqual(["code", "successful", "message"]);
        expect(body.code).not.toBe(0);
        expect(body.successful).toBe(false);
        expect(String(body.message).length).toBeGreaterThan(10);
      }
    });
  });

  describe("States and transitions", () => {
    test("none → open normal: code verified, origin allowed, max-connections not exceeded, no temporary request; userId bound", async () => {
      await connect("ann");
      expect(await push.online()).toEqual(["ann"]);
    });

    test("none → open temporary: temp=1, and the server decides to mark it temporary", async () => {
      push.verify.answer = (code) => verifyAnswer({ userId: code, temporary: true });
      await connect("ann", "&temp=1");
      expect(await push.online()).toEqual([]);
    });

    test("none → open normal: temp=1, and the server decides not to mark it temporary", async () => {
      push.verify.answer = (code) => verifyAnswer({ userId: code, temporary: false });
      await connect("ann", "&temp=1");
      expect(await push.online()).toEqual(["ann"]);
    });

    test("Without temp=1 a connection is normal, whatever the verify response says", async () => {
      push.verify.answer = (code) => verifyAnswer({ userId: code, temporary: true });
      await connect("ann");
      await connect("bob", "&temp=true");
      expect(await push.online()).toEqual(["ann", "bob"]);
    });

    test("none → refused: origin not allowed; a connection that is refused never exists", async () => {
      await restart({ "push.allowed-origins": ["https://app.example.com"] });
      expect(await isRefused("?code=ann", { origin: "https://evil.example.com" })).toBe(true);
      expect(await push.metric("slipway_push_places_taken")).toBe(0);
      expect(await push.online()).toEqual([]);
      expect(push.verify.requests).toEqual([]);
    });

    test("none → refused: max-connections exceeded", async () => {
      await restart({ "push.max-connections": 1 });
      await connect("ann");
      expect(await isRefused("?code=bob")).toBe(true);
      expect(await push.online()).toEqual(["ann"]);
    });

    test("open temporary → closed: max lifetime reached; before expiry the connection receives pushes normally", async () => {
      await restart({ "push.temp-max-lifetime": 5_000 });
      const client = await connect("ann", "&temp=1");
      await push.publish({ targetType: "all", data: "all" });
      await push.publish({ targetType: "user", target: "ann", data: "user" });
      expect(await client.received(2)).toEqual(["all", "user"]);
      expect(await client.ended()).toEqual({ code: 4003, reason: "lifetime reached" });
      expect(await push.metric("slipway_push_places_taken")).toBe(0);
    });
  });

  describe("GET", () => {
    test("code (required): the code is verified through verify-uri, which yields the userId", async () => {
      await connect("a%26b%3Dc%20d%2F%C3%BC");
      expect(push.verify.requests[0]?.url.searchParams.get("code")).toBe("a&b=c d/ü");
      expect(await push.online()).toEqual(["a&b=c d/ü"]);
      expect(await isRefused("")).toBe(true);
    });

    test("temp (optional): 1 requests a temporary connection", async () => {
      await connect("ann", "&temp=1");
      expect(push.verify.requests[0]?.url.searchParams.get("temp")).toBe("1");
      await connect("ann");
      expect(push.verify.requests[1]?.url.searchParams.has("temp")).toBe(false);
    });

    test("The connection count is checked against max-connections; temporary ones count too", async () => {
      await restart({ "push.max-connections": 2 });
      await connect("ann", "&temp=1");
      await connect("ann");
      expect(await isRefused("?code=ann")).toBe(true);
    });

    test("Connections beyond max-connections are rejected at once, without asking verify-uri", async () => {
      await restart({ "push.max-connections": 1 });
      await connect("ann");
      expect(await isRefused("?code=bob")).toBe(true);
      expect(push.verify.requests.length).toBe(1);
    });

    test("A place is free again once its connection has closed", async () => {
      await restart({ "push.max-connections": 1 });
      const first = await connect("ann");
      first.close();
      await eventually(
        "the place is free",
        async () => (await push.metric("slipway_push_places_taken")) === 0,
      );
      await connect("bob");
    });
  });

  describe("POST /feign/publish", () => {
    test("cluster-enabled=false: the message is pushed directly to local connections", async () => {
      const client = await connect("ann");
      const answer = await push.publish({ targetType: "user", target: "ann", data: "direct" });
      expect(answer.headers.get("x-push-receivers")).toBe("1");
      expect(await client.received(1)).toEqual(["direct"]);
    });

    test("temp_user: the message goes only to the temporary connections of that user and never to the user's normal connections", async () => {
      const normal = await connect("ann");
      const temporary = await connect("ann", "&temp=1");
      const other = await connect("bob", "&temp=1");
      await push.publish({ targetType: "temp_user", target: "ann", data: "secret" });
      await push.publish({ targetType: "all", data: "end" });
      expect(await temporary.received(2)).toEqual(["secret", "end"]);
      expect(await normal.received(1)).toEqual(["end"]);
      expect(await other.received(1)).toEqual(["end"]);
    });

    test("A message to one user reaches every connection of that user once", async () => {
      const sockets = await Promise.all([connect("ann"), connect("ann"), connect("ann", "&temp=1")]);
      const answer = await push.publish({ targetType: "user", target: "ann", data: "hi" });
      expect(answer.headers.get("x-push-receivers")).toBe("3");
      await push.publish({ targetType: "all", data: "end" });
      for (const socket of sockets) expect(await socket.received(2)).toEqual(["hi", "end"]);
    });
  });

  describe("GET /feign/getOnlineUsers", () => {
    test("data is the array of userId strings of all users online, each once", async () => {
      push.verify.answer = (code) => verifyAnswer(code === "7" ? 7 : code);
      await connect("7");
      await connect("ann");
      await connect("ann");
      expect(await push.online()).toEqual(["7", "ann"]);
    });

    test("Only normal connections are counted; temporary connections are excluded", async () => {
      await connect("ann", "&temp=1");
      const normal = await connect("bob");
      await connect("bob", "&temp=1");
      expect(await push.online()).toEqual(["bob"]);
      normal.close();
      await eventually("bob is gone", async () => (await push.online()).length === 0);
    });
  });
});
