import { afterEach, describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { eventually } from "../support/eventually.ts";
import { startGateway } from "../support/gateway-server.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { type FrameClient, openV1, rawClient, transports } from "../support/transports.ts";

let push: PushApp;

afterEach(() => push.stop());

const toAnn = (data: string) => push.publish({ targetType: "user", target: "ann", data });

async function lastIdOf(client: FrameClient): Promise<string> {
  const [welcome] = await client.receivedType("welcome");
  return String(client.ofType("message").at(-1)?.position ?? welcome?.lastId);
}

describe.each(transports)("resume over %s", (transport) => {
  const connect = (query: string) => openV1(transport, push.url, `code=ann${query}`);

  test.each([
    ["its position", "position"],
    ["the id of its last message, as earlier clients do", "id"],
  ])(
    "a client that reconnects with %s gets the missed messages of its targets, then live ones",
    async (_, field) => {
      push = await startPushApp();
      const first = await connect("&channel=news");
      await toAnn("received");
      const [received] = await first.receivedType("message");
      const lastId = String(received?.[field]);
      first.close();
      await first.ended();
      await toAnn("missed 1");
      await push.publish({ targetType: "user", target: "bob", data: "not mine" });
      await push.publish({ targetType: "temp_user", target: "ann", data: "not for a normal connection" });
      await push.publish({ targetType: "channel", target: "other", data: "not my channel" });
      await push.publish({ targetType: "channel", target: "news", data: "missed 2" });
      await push.publish({ targetType: "all", data: "missed 3" });
      const second = await connect(`&channel=news&resume=${encodeURIComponent(lastId)}`);
      await toAnn("live");
      await second.receivedType("message", 4);
      expect(second.messages).toEqual(["missed 1", "missed 2", "missed 3", "live"]);
      expect(second.ofType("welcome")).toMatchObject([{ recovered: true }]);
      second.close();
    },
  );

  test("a client without any message resumes from the welcome's lastId", async () => {
    push = await startPushApp();
    const first = await connect("");
    const lastId = await lastIdOf(first);
    first.close();
    await first.ended();
    await toAnn("missed");
    const second = await connect(`&resume=${encodeURIComponent(lastId)}`);
    await second.receivedType("message");
    expect(second.messages).toEqual(["missed"]);
    expect(second.ofType("welcome")).toMatchObject([{ recovered: true }]);
    second.close();
  });

  test("a client that is ahead of the instance gets nothing before its welcome, not even of its channels", async () => {
    push = await startPushApp();
    const toNews = (data: string) => push.publish({ targetType: "channel", target: "news", data });
    const first = await connect("");
    const [offset = "", tag] = (await lastIdOf(first)).split(".");
    const ahead = `${(Number.parseInt(offset, 36) + 2).toString(36)}.${tag}`;
    const second = await connect(`&channel=news&resume=${ahead}`);
    await toNews("not read by this instance when the client got it elsewhere");
    await toNews("another record than the client has seen at this position");
    await second.receivedType("welcome");
    await toNews("live");
    await second.receivedType("message");
    expect(second.messages).toEqual(["live"]);
    expect(second.ofType("welcome")).toMatchObject([{ recovered: false }]);
    first.close();
    second.close();
  });

  test("messages are kept for push.resume.age, also for a client of the process before this one", async () => {
    const clock = manualClock();
    const server = await startGateway({ "push.resume.age": 60_000 }, clock);
    const open = (query = "") => openV1(transport, server.url, `code=ann${query}`);
    const send = (data: string) =>
      server.gateway.publisher.publish({ targetType: "user", target: "ann", data });
    await send("a client of the process before this one may resume");
    expect(server.gateway.ring.size).toBe(1);
    clock.advance(60_001);
    await send("the one before is too old");
    expect(server.gateway.ring.size).toBe(1);
    const first = await open();
    await send("received");
    const [received] = await first.receivedType("message");
    first.close();
    await eventually("it is gone", () => server.gateway.connections.size === 0);
    clock.advance(59_000);
    await send("missed");
    const second = await open(`&resume=${received?.position}`);
    await second.receivedType("message");
    expect(second.messages).toEqual(["missed"]);
    await server.stop();
  });

  test("11,000 messages to another user within the age do not displace the position of a client", async () => {
    const server = await startGateway();
    const open = (query: string) => openV1(transport, server.url, `code=ann${query}`);
    const send = (target: string, data: string) =>
      server.gateway.publisher.publish({ targetType: "user", target, data });
    const first = await open("");
    await send("ann", "received");
    const [received] = await first.receivedType("message");
    first.close();
    await first.ended();
    await send("ann", "missed");
    for (let count = 0; count < 11_000; count += 1_000)
      await Promise.all(Array.from({ length: 1_000 }, (_, index) => send("bob", `busy ${count + index}`)));
    const second = await open(`&resume=${received?.position}`);
    await second.receivedType("message");
    expect(second.ofType("welcome")).toMatchObject([{ recovered: true }]);
    expect(second.messages).toEqual(["missed"]);
    second.close();
    await server.stop();
  });

  test("recovered is false for an id that is unknown, forgotten or of another start, and nothing is replayed", async () => {
    push = await startPushApp({ "push.resume.bytes": 1_500 });
    const first = await connect("");
    await toAnn("received");
    await first.receivedType("message");
    const lastId = await lastIdOf(first);
    for (let index = 0; index < 4; index++) await toAnn(`later ${index}`);
    for (const id of [lastId, "made-up", "1.abc", "i3hy8x3qwx.1uvsa6c", ""]) {
      const client = await connect(`&resume=${encodeURIComponent(id)}`);
      expect(await client.receivedType("welcome")).toMatchObject([{ recovered: false }]);
      await push.publish({ targetType: "user", target: "ann", data: "live" });
      await client.receivedType("message");
      expect(client.messages).toEqual(["live"]);
      client.close();
    }
    first.close();
  });

  test("messages older than resume.age are forgotten", async () => {
    const clock = manualClock();
    const server = await startGateway({ "push.resume.age": 60_000 }, clock);
    const open = (query = "") => openV1(transport, server.url, `code=ann${query}`);
    const first = await open();
    for (const data of ["one", "two"])
      await server.gateway.publisher.publish({ targetType: "user", target: "ann", data });
    await first.receivedType("message", 2);
    const oneId = String(first.ofType("message")[0]?.id);
    clock.advance(60_001);
    const second = await open(`&resume=${encodeURIComponent(oneId)}`);
    expect(await second.receivedType("welcome")).toMatchObject([{ recovered: false }]);
    first.close();
    second.close();
    await server.stop();
  });

  test("the newest message is known for as long as nothing follows it, so that a quiet gateway can be resumed too", async () => {
    const clock = manualClock();
    const server = await startGateway({}, clock);
    const open = (query: string) => openV1(transport, server.url, `code=ann${query}`);
    const send = (data: string) =>
      server.gateway.publisher.publish({ targetType: "user", target: "ann", data });
    const first = await open("");
    send("one");
    await first.receivedType("message");
    const lastId = await lastIdOf(first);
    clock.advance(600_000);
    first.close();
    await eventually("it is gone", () => server.gateway.connections.size === 0);
    send("missed");
    const second = await open(`&resume=${encodeURIComponent(lastId)}`);
    await second.receivedType("message");
    expect(second.messages).toEqual(["missed"]);
    expect(second.ofType("welcome")).toMatchObject([{ recovered: true }]);
    await server.stop();
  });

  test("a heartbeat text is answered with itself, and in slipway.v1 with the position to resume from", async () => {
    push = await startPushApp();
    const raw = await PushClient.open(`${push.wsUrl}?code=ann`);
    const first = await connect("");
    raw.send("ping");
    expect(await raw.received(1)).toEqual(["ping"]);
    await push.publish({ targetType: "user", target: "bob", data: "not mine" });
    first.send("ping");
    const isPosition = (frame: string) => frame.includes('"position"');
    await eventually("the position is sent", () => first.frames.some(isPosition));
    const [echo, position] = first.frames.slice(1);
    expect(echo).toBe("ping");
    first.close();
    await first.ended();
    await toAnn("missed");
    const second = await connect(`&resume=${JSON.parse(position ?? "").lastId}`);
    await second.receivedType("message");
    expect(second.messages).toEqual(["missed"]);
    expect(second.ofType("welcome")).toMatchObject([{ recovered: true }]);
    for (const client of [raw, second]) client.close();
  });

  test("far more than a send buffer is replayed without loss, in order, while live messages keep coming", async () => {
    push = await startPushApp({ "push.send-buffer-bytes": 256 * 1024 });
    const first = await connect("");
    const lastId = await lastIdOf(first);
    first.close();
    await first.ended();
    const text = "x".repeat(10_000);
    for (let index = 0; index < 500; index++) await toAnn(`${index} ${text}`);
    const second = await connect(`&resume=${encodeURIComponent(lastId)}`);
    for (let index = 500; index < 600; index++) await toAnn(`${index} ${text}`);
    await second.receivedType("message", 600);
    expect(second.messages.map((data) => Number.parseInt(data, 10))).toEqual(
      Array.from({ length: 600 }, (_, index) => index),
    );
    expect(second.ofType("welcome")).toMatchObject([{ recovered: true }]);
    second.close();
  });

  test("large messages are replayed to a steady reader as fast as it reads, without closing it", async () => {
    push = await startPushApp();
    const first = await connect("");
    const lastId = await lastIdOf(first);
    first.close();
    await first.ended();
    const data = "x".repeat(900_000);
    for (let index = 0; index < 12; index++) await toAnn(data);
    const second = rawClient(transport, push.port);
    second.readSteadily(4_000_000);
    await second.upgrade(`/ws?code=ann&resume=${encodeURIComponent(lastId)}`, {
      "Sec-WebSocket-Protocol": "slipway.v1",
    });
    // The welcome comes first.
    await eventually("all are there", () => second.frames().length >= 13 || second.isClosed);
    expect(second.frames().map((frame) => frame.opcode)).toEqual(Array(13).fill(1));
    second.end();
  });
});
