import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { openV1, transports } from "../support/transports.ts";

let push: PushApp;

async function start(values: Parameters<typeof startPushApp>[0] = {}): Promise<void> {
  await push?.stop();
  push = await startPushApp(values);
}

beforeEach(() => start());
afterEach(() => push.stop());

const v1 = (code: string, query = "") =>
  PushClient.open(`${push.wsUrl}?code=${code}${query}`, ["slipway.v1"]);
const raw = (code: string, query = "") => PushClient.open(`${push.wsUrl}?code=${code}${query}`);
const answer = (data: unknown) => () => Response.json({ code: 0, successful: true, data });

describe("frames", () => {
  test("a client that offers slipway.v1 gets JSON: welcome, then messages with id, targetType, target, data, ts", async () => {
    const client = await PushClient.open(`${push.wsUrl}?code=ann`, ["chat", "slipway.v1"]);
    expect(client.socket.protocol).toBe("slipway.v1");
    const [welcome] = await client.receivedType("welcome");
    expect(welcome).toMatchObject({ userId: "ann", kind: "normal", channels: [], recovered: false });
    expect(welcome?.acceptsMessages).toBe(false);
    const before = Date.now();
    const sent = await push.publish({ targetType: "user", target: "ann", data: 'a "quoted"\n text 🥊' });
    const [message] = await client.receivedType("message");
    expect(message?.position).toMatch(/^[0-9a-z]+\.[0-9a-z]+$/);
    expect(message).toEqual({
      position: message?.position,
      type: "message",
      id: sent.headers.get("x-push-id"),
      targetType: "user",
      target: "ann",
      data: 'a "quoted"\n text 🥊',
      ts: message?.ts,
    });
    expect(Number(message?.ts)).toBeGreaterThanOrEqual(before);
    client.close();
  });

  test("raw and v1 clients receive the same message, each once and in its own format", async () => {
    const clients = [await v1("ann", "&channel=c"), await raw("ann", "&channel=c")] as const;
    await push.publish({ targetType: "channel", target: "c", data: "both" });
    await push.publish({ targetType: "all", data: "end" });
    await clients[0].receivedType("message", 2);
    expect(clients[0].messages).toEqual(["both", "end"]);
    expect(await clients[1].received(2)).toEqual(["both", "end"]);
    for (const client of clients) client.close();
  });

  test("a client text equal to heartbeat-content is answered with itself and is never a client message", async () => {
    await start({ "push.accept-client-message": true, "push.heartbeat-content": "beat" });
    for (const client of [await v1("ann"), await raw("ann")]) {
      client.send("beat");
      await eventually("it is echoed", () => client.frames.includes("beat"));
      client.close();
    }
    expect(await push.metric('slipway_push_client_messages_total{result="accepted"}')).toBe(0);
  });

  test("binary frames close 1003, oversized 1009", async () => {
    await start({ "push.client-max-message-bytes": 100 });
    const binary = await raw("ann");
    binary.send(new Uint8Array([1, 2, 3]));
    expect((await binary.ended()).code).toBe(1003);
    const large = await raw("ann");
    large.send("x".repeat(101));
    expect((await large.ended()).code).toBe(1009);
    const fitting = await raw("ann");
    fitting.send("x".repeat(100));
    fitting.send("ping");
    expect(await fitting.received(1)).toEqual(["ping"]);
    fitting.close();
  });

  test("a frame that is none of the three is answered with an error, not with a close", async () => {
    const client = await v1("ann");
    for (const text of [
      "nonsense",
      "[]",
      '{"type":"shout"}',
      '{"type":"join"}',
      '{"type":"message","data":7}',
    ])
      client.send(text);
    expect(await client.receivedType("error", 5)).toMatchObject(Array(5).fill({ code: "frame_invalid" }));
    expect(client.closed).toBeNull();
    client.close();
  });
});

describe.each(transports)("channels over %s", (transport) => {
  const v1 = (code: string, query = "") => openV1(transport, push.url, `code=${code}${query}`);

  test("joined by channel=, repeatable", async () => {
    const client = await v1("ann", "&channel=a&channel=b&channel=a");
    expect(await client.receivedType("welcome")).toMatchObject([{ channels: ["a", "b"] }]);
    await push.publish({ targetType: "channel", target: "b", data: "hi" });
    await client.receivedType("message");
    expect(client.messages).toEqual(["hi"]);
    client.close();
  });

  test("joined and left by frames, also when accept-client-message is false", async () => {
    const client = await v1("ann");
    client.send('{"type":"join","channel":"room"}');
    expect(await client.receivedType("joined")).toEqual([{ type: "joined", channel: "room" }]);
    await push.publish({ targetType: "channel", target: "room", data: "in" });
    await client.receivedType("message");
    client.send('{"type":"leave","channel":"room"}');
    expect(await client.receivedType("left")).toEqual([{ type: "left", channel: "room" }]);
    const sent = await push.publish({ targetType: "channel", target: "room", data: "out" });
    expect(sent.headers.get("x-push-receivers")).toBe("0");
    client.close();
  });

  test("names in the verify response are joined, its globs only granted, and other channels refused", async () => {
    push.verify.answer = answer({ userId: "ann", channels: ["private-ann", "room-*"] });
    const client = await v1("code", "&channel=room-1&channel=other");
    expect(await client.receivedType("welcome")).toMatchObject([{ channels: ["private-ann", "room-1"] }]);
    expect(await client.receivedType("error")).toMatchObject([
      { code: "channel_not_allowed", channel: "other" },
    ]);
    client.close();
  });

  test("an empty list in the verify response grants no channel", async () => {
    push.verify.answer = answer({ userId: "ann", channels: [] });
    const client = await v1("code", "&channel=news");
    expect(await client.receivedType("error")).toMatchObject([{ code: "channel_not_allowed" }]);
    client.close();
  });

  test("without a list public-channels decides, and private-… is never among them", async () => {
    await start({ "push.public-channels": ["news-*", "**"] });
    const client = await v1("ann", "&channel=news-1&channel=private-x&channel=a/b");
    expect(await client.receivedType("welcome")).toMatchObject([{ channels: ["news-1", "a/b"] }]);
    expect(await client.receivedType("error")).toMatchObject([{ channel: "private-x" }]);
    client.close();
  });

  test("at most 128 in all, 255 bytes, no control characters", async () => {
    const names = Array.from({ length: 128 }, (_, index) => `&channel=c${index}`).join("");
    const client = await v1("ann", names);
    client.send('{"type":"join","channel":"one-more"}');
    expect(await client.receivedType("error")).toMatchObject([{ code: "too_many_channels" }]);
    for (const channel of ["", "x".repeat(256), "ü".repeat(128), "a\u0007b", "a\u007fb"])
      client.send(JSON.stringify({ type: "join", channel }));
    expect((await client.receivedType("error", 6)).slice(1)).toMatchObject(
      Array(5).fill({ code: "channel_invalid" }),
    );
    client.send('{"type":"leave","channel":"c0"}');
    client.send(JSON.stringify({ type: "join", channel: "x".repeat(255) }));
    await client.receivedType("joined");
    client.close();
  });
});

describe("client messages", () => {
  test("GET /feign/client-messages streams them live, in order, as {v:1,id,ts,node,connectionId,userId,kind,data}", async () => {
    await start({ "push.accept-client-message": true });
    const aborter = new AbortController();
    const stream = await fetch(`${push.url}/feign/client-messages`, { signal: aborter.signal });
    expect(stream.headers.get("content-type")).toBe("application/x-ndjson");
    const client = await v1("ann", "&temp=1");
    const plain = await raw("bob");
    for (const data of ["one", "two"]) client.send(JSON.stringify({ type: "message", data }));
    const lines: Record<string, unknown>[] = [];
    let text = "";
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) {
      text += new TextDecoder().decode(chunk);
      const complete = text.split("\n");
      text = complete.pop() ?? "";
      for (const line of complete) if (line !== "") lines.push(JSON.parse(line) as Record<string, unknown>);
      if (lines.length === 2) plain.send("raw text");
      if (lines.length === 3) break;
    }
    aborter.abort();
    expect(lines.map((line) => [line.userId, line.kind, line.data])).toEqual([
      ["ann", "temporary", "one"],
      ["ann", "temporary", "two"],
      ["bob", "normal", "raw text"],
    ]);
    expect(Object.keys(lines[0] ?? {})).toEqual([
      "v",
      "id",
      "ts",
      "node",
      "connectionId",
      "userId",
      "kind",
      "data",
    ]);
    client.close();
    plain.close();
  });

  test("when accept-client-message is false they are ignored", async () => {
    const client = await raw("ann");
    client.send("hello?");
    client.send("ping");
    expect(await client.received(1)).toEqual(["ping"]);
    expect(await push.metric('slipway_push_client_messages_total{result="ignored"}')).toBe(1);
    expect((await push.get("/feign/client-messages")).status).toBe(409);
    client.close();
  });

  test("over client-message-rate: 4301", async () => {
    await start({ "push.accept-client-message": true, "push.client-message-rate": 10 });
    const client = await raw("ann");
    for (let sent = 0; sent < 30; sent++) client.send("flood");
    expect((await client.ended()).code).toBe(4301);
    expect(await push.metric("slipway_push_places_taken")).toBe(0);
  });
});
