import { afterEach, expect, test } from "bun:test";
import { type PushOptions, type SessionStore, SlipwayPush } from "../../client/slipway-push.ts";
import { type MiniProgram, weChatSocket } from "../../client/wechat.ts";
import { eventually } from "../support/eventually.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway.ts";

const open: (SlipwayPush | FakeGateway)[] = [];

afterEach(() => {
  for (const thing of open.splice(0)) thing.close();
});

function gateway(): FakeGateway {
  const started = startFakeGateway();
  open.push(started);
  return started;
}

/** A page that has just been loaded. */
async function page(server: FakeGateway, more: Partial<PushOptions> = {}) {
  const push = new SlipwayPush({ url: server.url, code: () => "code", ...more });
  open.push(push);
  const opened = new Promise<unknown>((resolve) => push.on("open", resolve));
  push.open();
  return { push, opened: await opened };
}

function memoryStore(): SessionStore & Map<string, string> {
  return Object.assign(new Map<string, string>(), {
    getItem: (key: string) => store.get(key) ?? null,
    setItem: (key: string, value: string) => void store.set(key, value),
  });
}
let store = memoryStore();

test("a reloaded page resumes at the last position, with the channels that the page before had joined", async () => {
  store = memoryStore();
  const kept = { resumeKey: "orders", sessionStore: store };
  const server = gateway();
  const welcome = { type: "welcome", connectionId: "1", userId: "ann", recovered: true };
  const message = { type: "message", id: "m1", targetType: "all", target: "", data: "", ts: 1 };
  server.onConnect = (send) => {
    send({ ...welcome, lastId: "1.a" });
    send({ ...message, position: "5.b" });
  };
  const before = await page(server, { ...kept, channels: ["news"] });
  expect(before.opened).toMatchObject({ reconnected: false, recovered: true });
  before.push.join("room");
  await eventually("both are kept", () => [...store.values()].join().includes('"5.b","news","room"'));

  const after = await page(server, { ...kept, channels: ["news"] });
  expect(after.opened).toMatchObject({ reconnected: true, recovered: true });
  expect(server.handshakes[1]?.get("resume")).toBe("5.b");
  expect(server.handshakes[1]?.getAll("channel")).toEqual(["news", "room"]);

  server.onConnect = (send) => send({ ...welcome, recovered: false, lastId: "9.z" });
  expect((await page(server, kept)).opened).toMatchObject({ reconnected: true, recovered: false });
  expect((await page(server, { ...kept, resumeKey: "another" })).opened).toMatchObject({
    reconnected: false,
  });
  expect(server.handshakes[3]?.get("resume")).toBeNull();
});

test("a page works without storage, with one that throws, and with something else in it", async () => {
  const server = gateway();
  const broken = {
    getItem: (): string => {
      throw new Error("denied");
    },
    setItem: () => {
      throw new Error("full");
    },
  };
  const foreign = { getItem: () => '{"not":"ours"}', setItem: () => {} };
  server.onConnect = (send) =>
    send({ type: "welcome", connectionId: "1", userId: "ann", recovered: false, lastId: "9.z" });
  for (const sessionStore of [undefined, broken, foreign])
    expect(
      (await page(server, { resumeKey: "a", ...(sessionStore ? { sessionStore } : {}) })).opened,
    ).toMatchObject({ reconnected: false, recovered: true });
  expect(server.handshakes.map((query) => query.get("resume"))).toEqual([null, null, null]);
});

test("a query of the address stays, and values are encoded", async () => {
  const server = gateway();
  await page(server, { url: `${server.url}?tenant=7`, code: () => "a+b&c=d", channels: ["ü /x"] });
  expect(Object.fromEntries(server.handshakes[0] ?? [])).toEqual({
    tenant: "7",
    code: "a+b&c=d",
    channel: "ü /x",
  });
});

test("a transport that cannot start an attempt is tried again", async () => {
  const reasons: string[] = [];
  const push = new SlipwayPush({
    url: "wss://push.example.com/ws",
    code: () => "code",
    minDelayMs: 1,
    transport: {
      connect: () => {
        throw new Error("no sockets here");
      },
    },
  });
  open.push(push);
  push.on("status", ({ state, reason }) => state === "waiting" && reasons.push(reason));
  push.open();
  await eventually("two attempts", () => reasons.length >= 2);
  expect(new Set(reasons)).toEqual(new Set(["no sockets here"]));
});

/** `wx` of a mini program, over a real WebSocket. */
const wx: MiniProgram = {
  connectSocket({ url, protocols }) {
    const socket = new WebSocket(url, protocols);
    return {
      onMessage: (listener) => socket.addEventListener("message", listener),
      onClose: (listener) => socket.addEventListener("close", listener),
      onError: (listener) => socket.addEventListener("error", () => listener({ errMsg: "no network" })),
      send: ({ data }) => socket.send(data),
      close: () => socket.close(),
    };
  },
};

test("a mini program connects, sends, and reconnects after a close", async () => {
  const server = gateway();
  const { push } = await page(server, { webSocket: weChatSocket(wx), random: () => 0 });
  const received = server.received(JSON.stringify({ type: "message", data: "hello" }));
  expect(push.send("hello")).toBe(true);
  await received;
  server.closeAll(1012);
  await eventually(
    "it has reconnected",
    () => server.handshakes.length === 2 && push.status.state === "open",
  );
  server.refuse = true;
  server.closeAll(1012);
  await eventually("the handshake fails", () => push.status.reason === "no network");
});
