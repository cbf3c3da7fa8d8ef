import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import type { TargetType } from "../../src/push/message/message.ts";
import type { Published } from "../../src/push/publish/publisher.ts";
import { eventually } from "../support/eventually.ts";
import { type GatewayServer, startGateway } from "../support/gateway-server.ts";
import type { RawSocket } from "../support/raw-socket.ts";
import { type Reader, startReader } from "../support/reader.ts";
import { rawClient, type TransportPath, transports } from "../support/transports.ts";

const mebibyte = 1024 * 1024;
let server: GatewayServer;
let transport: TransportPath = "/ws";
const readers: Reader[] = [];
const paused: RawSocket[] = [];

afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.end();
  for (const socket of paused.splice(0)) socket.end();
  await server.stop();
});

/** Real sockets that are not read. */
async function pauseSome(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const socket = rawClient(transport, server.port);
    await socket.upgrade(`/ws?code=paused-${index}`);
    socket.pause();
    paused.push(socket);
  }
}

function publishTo(targetType: TargetType, target: string, data: string): Promise<Published> {
  return Promise.resolve(server.gateway.publisher.publish({ targetType, target, data }));
}

/** Publishes to a user until the buffers of the kernel are full. */
async function fillUntilBehind(userId: string): Promise<void> {
  const [socket] = server.gateway.connections.ofUser(userId);
  while (socket?.getBufferedAmount() === 0) await publishTo("user", userId, "x".repeat(100_000));
}

/** How many messages of this size the buffers of the kernel take: that depends on the machine and on its load. */
async function kernelCapacity(bytes: number): Promise<number> {
  const { connections } = server.gateway;
  const probe = rawClient(transport, server.port);
  await probe.upgrade("/ws?code=probe");
  probe.pause();
  const [socket] = connections.ofUser("probe");
  let taken = 0;
  for (; socket?.getBufferedAmount() === 0; taken++) await publishTo("user", "probe", "x".repeat(bytes));
  probe.end();
  await eventually("the probe is gone", () => connections.size === 0);
  return taken;
}

/** A reply within this many turns of the event loop waited for no slow consumer, however busy the machine is. */
async function withinTurns<T>(promises: Promise<T>[], turns = 200): Promise<T[]> {
  const answers: T[] = [];
  for (const promise of promises) void promise.then((answer) => answers.push(answer));
  for (let turn = 0; turn < turns; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(answers).toHaveLength(promises.length);
  return answers;
}

/** Descriptors of sockets in this process, of clients and of the gateway. */
function openSockets(): number {
  const links = readdirSync("/proc/self/fd").map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return "";
    }
  });
  return links.filter((link) => link.startsWith("socket:")).length;
}

async function read(code: string, protocol = ""): Promise<Reader> {
  const reader = await startReader(`${server.wsUrl}?code=${code}`, protocol);
  readers.push(reader);
  return reader;
}

describe.each(transports)("slow consumers of %s", (path) => {
  beforeEach(() => {
    transport = path;
  });

  test("40 messages of 1 MiB published in one turn: healthy readers get all 40, paused ones are closed with 4102", async () => {
    server = await startGateway();
    const healthy = [await read("ann"), await read("bob", "slipway.v1")];
    await pauseSome(3);
    const { gateway } = server;
    const data = "x".repeat(mebibyte);
    await Promise.all(
      Array.from({ length: 40 }, () => gateway.publisher.publish({ targetType: "all", target: "", data })),
    );
    await eventually("all 40 arrive", () => (healthy[0]?.received ?? 0) >= 40);
    // The other client receives its welcome too.
    await eventually("all 40 arrive", () => (healthy[1]?.received ?? 0) >= 41);
    expect(healthy[0]?.bytes).toBe(40 * mebibyte);
    expect(healthy.map((reader) => reader.closed)).toEqual([null, null]);
    await eventually("the paused ones are closed", () => gateway.connections.size === 2);
    expect(await server.metric('slipway_push_closes_total{code="4102"}')).toBe(3);
    expect(await server.metric("slipway_push_dropped_total")).toBe(0);
  });

  test("the unsent bytes of a connection stay bounded, and the client reads the close code when it reads again", async () => {
    server = await startGateway({
      "push.max-message-bytes": 100_000,
      "push.send-buffer-total": 16 * mebibyte,
    });
    await pauseSome(1);
    const data = "x".repeat(100_000);
    while (server.gateway.connections.size > 0) {
      await publishTo("all", "", data);
      // A quarter of the total, and what is sent before the next sweep.
      for (const socket of server.gateway.connections.all())
        expect(socket.getBufferedAmount()).toBeLessThan(5 * mebibyte);
    }
    const [client] = paused;
    expect(client?.socket.isPaused()).toBe(true);
    client?.resume();
    expect(await client?.closeCode(30_000)).toBe(4102);
  });

  // What waits for a closed event stream is dropped.
  if (path === "/ws")
    test("a closed connection gives its descriptor back, although the client reads a part of the rest and stops again", async () => {
      // More than the kernel buffers, so that the runtime still has unsent bytes after the client has read some.
      server = await startGateway({ "push.send-buffer-bytes": 32 * mebibyte });
      await pauseSome(1);
      const data = "x".repeat(mebibyte);
      while (server.gateway.connections.size > 0) await publishTo("user", "paused-0", data);
      const openBefore = openSockets();
      const socket = paused[0]?.socket;
      let read = 0;
      socket?.on("data", (chunk: Buffer) => {
        read += chunk.length;
        if (read > 20 * mebibyte) socket.pause();
      });
      socket?.resume();
      await eventually("it has read a part", () => read > 20 * mebibyte);
      await eventually("the gateway gives up", () => openSockets() < openBefore);
      expect(paused[0]?.isClosed).toBe(false);
    });

  test("after a message that escaping makes six times as large, the following messages arrive too", async () => {
    server = await startGateway();
    const before = Math.floor(0.7 * (await kernelCapacity(100_000)));
    const { publisher, connections } = server.gateway;
    const client = rawClient(transport, server.port);
    paused.push(client);
    await client.upgrade("/ws?code=ann", { "Sec-WebSocket-Protocol": "slipway.v1" });
    client.pause();
    const publish = (data: string) => publisher.publish({ targetType: "user", target: "ann", data });
    const buffered = () => connections.ofUser("ann")[0]?.getBufferedAmount() ?? 0;
    for (let sent = 0; sent < before; sent++) await publish("x".repeat(100_000));
    expect(buffered()).toBe(0);
    expect(await publish("\u0001".repeat(mebibyte))).toMatchObject({ receivers: 1 });
    expect(buffered()).toBeGreaterThan(mebibyte);
    // Between the message and the check of its receivers.
    server.gateway.tick();
    const small = Array.from({ length: 5 }, (_, index) => `small ${index}`);
    for (const data of small) expect(await publish(data)).toMatchObject({ receivers: 1 });
    client.resume();
    // Parsed only when the last one has arrived: these are ten megabytes, in the process of the gateway.
    const texts = () => client.frames().filter(({ opcode }) => opcode === 1);
    const isLast = (payload: Buffer) => payload.length < 1_000 && payload.includes("small 4");
    await eventually("the last one arrives", () => texts().some(({ payload }) => isLast(payload)));
    const received = texts()
      .map(({ payload }) => JSON.parse(payload.toString()) as { type: string; data: string })
      .filter(({ type }) => type === "message");
    expect(received).toHaveLength(before + 6);
    expect(received.slice(before).map(({ data }) => data.slice(0, 7))).toEqual([
      "\u0001".repeat(7),
      ...small,
    ]);
    expect(server.gateway.connections.size).toBe(1);
    expect(await server.metric("slipway_push_dropped_total")).toBe(0);
  });

  test("below send-buffer-bytes, without progress for slow-consumer-timeout: 4102", async () => {
    server = await startGateway({
      "push.slow-consumer-timeout": 3_000,
      "push.send-buffer-bytes": 64 * mebibyte,
    });
    await pauseSome(1);
    const data = "x".repeat(mebibyte);
    // More than the buffers of the kernel, less than the send buffer.
    for (let sent = 0; sent < 12; sent++)
      await server.gateway.publisher.publish({ targetType: "all", target: "", data });
    expect(server.gateway.connections.size).toBe(1);
    await eventually("it is closed", () => server.gateway.connections.size === 0);
    expect(await server.metric('slipway_push_closes_total{code="4102"}')).toBe(1);
  });

  test("when too much is unsent for all, and nobody reads, the largest go first", async () => {
    server = await startGateway({
      "push.send-buffer-bytes": 64 * mebibyte,
      "push.send-buffer-total": 20 * mebibyte,
    });
    await pauseSome(2);
    const data = "x".repeat(mebibyte);
    const publish = (target: string) =>
      server.gateway.publisher.publish({ targetType: "user", target, data });
    await fillUntilBehind("paused-1");
    for (let sent = 0; sent < 40 && server.gateway.connections.size === 2; sent++) await publish("paused-0");
    await eventually("one is closed", () => server.gateway.connections.size === 1);
    expect(server.gateway.connections.onlineUsers()).toEqual(["paused-1"]);
  });

  test("a slow consumer delays neither other users nor other recipients of the same messages", async () => {
    server = await startGateway();
    const healthy = await read("ann");
    await pauseSome(1);
    await fillUntilBehind("paused-0");
    const large = "x".repeat(700_000);
    const published = await withinTurns([
      ...Array.from({ length: 8 }, () => publishTo("user", "paused-0", large)),
      publishTo("user", "ann", "hi"),
      publishTo("all", "", "both"),
    ]);
    // The slow consumer counts as a recipient: it gets the message when it reads.
    expect(published.map(({ receivers }) => receivers)).toEqual([...Array(9).fill(1), 2]);
    await eventually("both arrive", () => healthy.received === 2);
    await eventually("the paused one is closed", () => server.gateway.connections.size === 1);
    expect(await server.metric('slipway_push_closes_total{code="4102"}')).toBe(1);
  });

  test("above send-buffer-bytes, without progress for a second: 4102", async () => {
    server = await startGateway();
    await pauseSome(1);
    const data = "x".repeat(mebibyte);
    const [socket] = server.gateway.connections.all();
    while ((socket?.getBufferedAmount() ?? 0) < 3 * mebibyte) await publishTo("all", "", data);
    const startedAt = performance.now();
    await eventually("it is closed", () => server.gateway.connections.size === 0);
    // Its timeout is 30 s.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(await server.metric('slipway_push_closes_total{code="4102"}')).toBe(1);
  });

  test.each(path === "/ws" ? ["", "slipway.v1"] : ["slipway.v1"])(
    "a consumer that falls behind and keeps reading gets everything in order: %p",
    async (protocol) => {
      server = await startGateway();
      const client = rawClient(transport, server.port);
      paused.push(client);
      await client.upgrade(
        "/ws?code=ann&channel=news",
        protocol ? { "Sec-WebSocket-Protocol": protocol } : {},
      );
      client.readSteadily(6_000_000);
      const [socket] = server.gateway.connections.ofUser("ann");
      const targets = [
        ["user", "ann"],
        ["all", ""],
        ["channel", "news"],
      ] as const;
      const numbered = (index: number) => `${index} ${"x".repeat(300_000)}`;
      await withinTurns(
        Array.from({ length: 60 }, (_, index) => {
          const [targetType, target] = targets[index % 3] ?? targets[0];
          return publishTo(targetType, target, numbered(index));
        }),
      );
      expect(socket?.getBufferedAmount()).toBeGreaterThan(mebibyte);
      await publishTo("channel", "news", "60 live");
      const received = () =>
        client
          .frames()
          .map(({ payload }) => payload.toString())
          .map((text) => (protocol ? String((JSON.parse(text) as { data?: string }).data) : text))
          .filter((data) => data !== "undefined")
          .map((data) => Number.parseInt(data, 10));
      await eventually("all arrive", () => received().length >= 61);
      expect(received()).toEqual(Array.from({ length: 61 }, (_, index) => index));
      expect(await server.metric("slipway_push_buffered_bytes")).toBe(0);
    },
  );

  test("a client that was closed resumes: it gets what it had not read", async () => {
    server = await startGateway();
    const protocol = { "Sec-WebSocket-Protocol": "slipway.v1" };
    const stalled = rawClient(transport, server.port);
    paused.push(stalled);
    await stalled.upgrade("/ws?code=ann", protocol);
    await publishTo("user", "ann", "read");
    // The first frame is the welcome.
    const messagesOf = (client: RawSocket) =>
      client
        .frames()
        .slice(1)
        .map(({ payload }) => JSON.parse(payload.toString()) as { position: string; data: string });
    await eventually("one arrives", () => stalled.frames().length === 2);
    stalled.pause();
    const texts: string[] = [];
    while (server.gateway.connections.size > 0) {
      texts.push(`${texts.length} ${"x".repeat(300_000)}`);
      await publishTo("user", "ann", texts.at(-1) ?? "");
      if (texts.length === 60) await eventually("it is closed", () => server.gateway.connections.size === 0);
    }
    const resumed = rawClient(transport, server.port);
    paused.push(resumed);
    const position = encodeURIComponent(messagesOf(stalled)[0]?.position ?? "");
    await resumed.upgrade(`/ws?code=ann&resume=${position}`, protocol);
    await eventually("all arrive", () => resumed.frames().length > texts.length);
    expect(messagesOf(resumed).map(({ data }) => data)).toEqual(texts);
  });
});
