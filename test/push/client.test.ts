import { afterEach, expect, setSystemTime, test } from "bun:test";
import { closeRuleOf, type PushOptions, SlipwayPush } from "../../client/slipway-push.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway.ts";

const open: (SlipwayPush | FakeGateway)[] = [];

afterEach(() => {
  setSystemTime();
  for (const thing of open.splice(0)) thing.close();
});

function gateway(): FakeGateway {
  const started = startFakeGateway();
  open.push(started);
  return started;
}

function client(server: FakeGateway, more: Partial<PushOptions> = {}): SlipwayPush {
  const push = new SlipwayPush({
    url: server.url,
    code: () => "code",
    minDelayMs: 5,
    maxDelayMs: 20,
    random: () => 0,
    ...more,
  });
  open.push(push);
  return push;
}

function next<E extends Parameters<SlipwayPush["on"]>[0]>(push: SlipwayPush, event: E) {
  const { promise, resolve } = Promise.withResolvers<Parameters<Parameters<typeof push.on<E>>[1]>[0]>();
  const off = push.on(event, (value) => {
    off();
    resolve(value);
  });
  return promise;
}

async function closedStatus(push: SlipwayPush) {
  while (push.status.state !== "closed") await next(push, "status");
  return push.status;
}

test("each attempt gets a new code and sends it with temp and the channels", async () => {
  const server = gateway();
  let count = 0;
  const push = client(server, {
    code: async () => `code-${++count}`,
    temporary: true,
    channels: ["a", "b/c"],
  });
  push.open();
  const first = await next(push, "open");
  expect(first).toMatchObject({ userId: "ann", reconnected: false, recovered: true });
  server.closeAll(1012);
  await next(push, "open");
  expect(server.handshakes.map((query) => query.get("code"))).toEqual(["code-1", "code-2"]);
  expect(server.handshakes[1]?.get("temp")).toBe("1");
  expect(server.handshakes[1]?.getAll("channel")).toEqual(["a", "b/c"]);
});

test("a resume starts at the position of the last message", async () => {
  const server = gateway();
  const push = client(server);
  const received: string[] = [];
  push.on("message", ({ id }) => received.push(id));
  const message = (id: string, position: string) => ({
    ...{ type: "message", id, targetType: "all", target: "", data: "", ts: 1 },
    position,
  });
  const welcome = { type: "welcome", connectionId: "1", userId: "ann", recovered: true, lastId: "9.z" };
  const resumedAfter = async (last: Record<string, unknown>): Promise<string | null> => {
    server.onConnect = (send) => {
      send(welcome);
      send(last);
    };
    server.closeAll(4201);
    while (received.at(-1) !== last.id) await next(push, "message");
    server.closeAll(4201);
    await next(push, "open");
    return server.handshakes.at(-1)?.get("resume") ?? null;
  };
  push.open();
  await next(push, "open");
  expect(await resumedAfter(message("m1", "5.a"))).toBe("5.a");
  expect(await resumedAfter(message("m2", "6.b"))).toBe("6.b");
});

test("those who come to a presence channel and leave it are events", async () => {
  const server = gateway();
  server.onConnect = (send) => {
    send({ type: "welcome", connectionId: "1", userId: "ann", recovered: false });
    send({ type: "memberJoined", channel: "presence-room", userId: "bo" });
    send({ type: "memberLeft", channel: "presence-room", userId: "bo" });
  };
  const push = client(server);
  const members: unknown[] = [];
  push.on("member", (member) => members.push(member));
  push.open();
  while (members.length < 2) await next(push, "member");
  expect(members).toEqual([
    { type: "joined", channel: "presence-room", userId: "bo" },
    { type: "left", channel: "presence-room", userId: "bo" },
  ]);
});

test("a reconnect without recovery reports it, and the next resume starts at the newest id of the server", async () => {
  const server = gateway();
  const push = client(server);
  push.open();
  await next(push, "open");
  server.onConnect = (send) =>
    send({ type: "welcome", connectionId: "2", userId: "ann", recovered: false, lastId: "m9" });
  server.closeAll(1012);
  expect(await next(push, "open")).toMatchObject({ reconnected: true, recovered: false });
  server.closeAll(1012);
  await next(push, "open");
  expect(server.handshakes[2]?.get("resume")).toBe("m9");
});

test("40xx stops, 4001 gets a new code, 42xx and 1012 reconnect within a second, all others back off", () => {
  expect([4000, 4002, 4003, 4004, 4099].map(closeRuleOf)).toEqual(Array(5).fill("stop"));
  expect(closeRuleOf(4001)).toBe("newCode");
  expect([1012, 4201, 4299].map(closeRuleOf)).toEqual(Array(3).fill("soon"));
  expect([1000, 1006, 1009, 1011, 4100, 4102, 4301].map(closeRuleOf)).toEqual(Array(7).fill("backOff"));
});

test("a refused code is followed by a new one", async () => {
  const server = gateway();
  const { onConnect } = server;
  server.onConnect = () => server.closeAll(4001, "The code was not accepted; get a new one.");
  let count = 0;
  const push = client(server, {
    code: () => {
      if (++count === 3) server.onConnect = onConnect;
      return `code-${count}`;
    },
  });
  push.open();
  await next(push, "open");
  expect(server.handshakes.map((query) => query.get("code"))).toEqual(["code-1", "code-2", "code-3"]);
  // An accepted code resets the count of refusals.
  server.onConnect = () => {
    server.onConnect = onConnect;
    server.closeAll(4001);
  };
  server.closeAll(1012);
  await next(push, "open");
  expect(server.handshakes).toHaveLength(5);
});

test("three refused codes in a row end the attempts, until it is opened again", async () => {
  const server = gateway();
  server.onConnect = () => server.closeAll(4001, "The code was not accepted; get a new one.");
  const push = client(server);
  push.open();
  expect(await closedStatus(push)).toMatchObject({ closeCode: 4001 });
  expect(server.handshakes).toHaveLength(3);
  push.open();
  await closedStatus(push);
  expect(server.handshakes).toHaveLength(6);
});

test("send returns false if the gateway accepts no client messages", async () => {
  const server = gateway();
  server.onConnect = (send) =>
    send({ type: "welcome", connectionId: "1", userId: "ann", recovered: false, acceptsMessages: false });
  const push = client(server);
  push.open();
  await next(push, "open");
  expect(push.send("nobody reads it")).toBe(false);
  server.onConnect = (send) =>
    send({ type: "welcome", connectionId: "2", userId: "ann", recovered: false, acceptsMessages: true });
  server.closeAll(1012);
  await next(push, "open");
  expect(push.send("hello")).toBe(true);
});

test("a kicked client stays away until it is opened again", async () => {
  const server = gateway();
  const push = client(server);
  push.open();
  await next(push, "open");
  server.closeAll(4004, "kicked");
  const status = await closedStatus(push);
  expect(status).toMatchObject({ state: "closed", closeCode: 4004, reason: "kicked" });
  push.open();
  await next(push, "open");
  expect(server.handshakes).toHaveLength(2);
});

test("pauses grow with each failure and are jittered", async () => {
  const server = gateway();
  const delays: number[] = [];
  const push = client(server, { minDelayMs: 8, maxDelayMs: 40, random: () => 1 });
  server.refuse = true;
  setSystemTime(new Date("2026-01-01T00:00:00Z"));
  push.on("status", ({ state, retryAt }) => {
    if (state === "waiting" && retryAt !== null) delays.push(retryAt - Date.now());
  });
  push.open();
  while (delays.length < 4) await next(push, "status");
  expect(delays.slice(0, 4).map(Math.round)).toEqual([8, 16, 32, 40]);
});

test("a code provider that throws is called again, and null ends the attempts", async () => {
  const server = gateway();
  const answers = [new Error("signed out?"), null];
  const push = client(server, {
    code: () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer ?? null;
    },
  });
  const states: string[] = [];
  push.on("status", ({ state, reason }) => states.push(`${state}: ${reason}`));
  push.open();
  await closedStatus(push);
  expect(states).toEqual([
    "connecting: connecting",
    "waiting: no code: signed out?",
    "connecting: connecting",
    "closed: no code to connect with",
  ]);
});

test("joined channels are restored; a refused one is not requested again", async () => {
  const server = gateway();
  const push = client(server, { channels: ["a"] });
  server.onConnect = (send) => {
    push.join("early");
    send({ type: "welcome", connectionId: "1", userId: "ann", recovered: true });
  };
  push.open();
  await next(push, "open");
  push.join("b");
  push.leave("a");
  expect(await next(push, "joined")).toBe("early");
  server.refuseChannel = "private-x";
  push.join("private-x");
  expect(await next(push, "problem")).toMatchObject({ channel: "private-x" });
  server.closeAll(1012);
  await next(push, "open");
  expect(server.handshakes[1]?.getAll("channel")).toEqual(["early", "b"]);
});

test("a channel that was joined during the handshake and is left as soon as it is open is not joined", async () => {
  const server = gateway();
  const push = client(server);
  server.onConnect = (send) => {
    push.join("early");
    send({ type: "welcome", connectionId: "1", userId: "ann", recovered: true });
  };
  push.on("status", ({ state }) => {
    if (state === "open") push.leave("early");
  });
  const joined: string[] = [];
  push.on("joined", (channel) => joined.push(channel));
  push.open();
  await next(push, "open");
  push.join("later");
  while (!joined.includes("later")) await next(push, "joined");
  expect(joined).toEqual(["later"]);
});

test("a client that is closed as soon as it is open does not report that it is open afterwards", async () => {
  const push = client(gateway());
  const events: string[] = [];
  push.on("status", ({ state }) => {
    events.push(state);
    if (state === "open") push.close();
  });
  push.on("open", () => events.push("event open"));
  push.open();
  await closedStatus(push);
  expect(events).toEqual(["connecting", "open", "closed"]);
});

test("a heartbeat is sent after a silence; without a reply the client reconnects", async () => {
  const server = gateway();
  const push = client(server, { heartbeatIntervalMs: 20, heartbeatTimeoutMs: 2000 });
  push.open();
  await next(push, "open");
  await server.received("ping");
  await server.received("ping");
  expect(server.handshakes).toHaveLength(1);
  server.mute = true;
  const silent = client(server, { heartbeatIntervalMs: 20, heartbeatTimeoutMs: 20 });
  silent.open();
  while (silent.status.state !== "waiting") await next(silent, "status");
  expect(silent.status).toMatchObject({ closeCode: 4201 });
});

test("send reaches the server while open and returns false otherwise", async () => {
  const server = gateway();
  const push = client(server);
  expect(push.send("too early")).toBe(false);
  push.open();
  await next(push, "open");
  expect(push.send("hello")).toBe(true);
  await server.received(JSON.stringify({ type: "message", data: "hello" }));
  push.close();
  expect(push.status).toMatchObject({ state: "closed", reason: "closed by the application" });
  expect(push.send("late")).toBe(false);
});

test("a handshake without a welcome is given up and tried again", async () => {
  const server = gateway();
  server.onConnect = () => {};
  const push = client(server, { connectTimeoutMs: 30 });
  push.open();
  while (push.status.state !== "waiting") await next(push, "status");
  expect(push.status.reason).toContain("30 ms");
});
