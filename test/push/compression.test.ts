import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { constants, deflateRawSync, inflateRawSync } from "node:zlib";
import { eventually } from "../support/eventually.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { maskedFrame, RawSocket } from "../support/raw-socket.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { startWorkers } from "../support/worker-instance.ts";

const long = JSON.stringify(Array.from({ length: 200 }, (_, id) => ({ id, name: `item ${id}` })));
const short = "a short text";
const offer = { "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits" };

interface Server {
  port: number;
  url: string;
  publish(data: string): Promise<Response>;
  stop(): Promise<void>;
}

/** Each with push.compression. */
const modes: Record<string, () => Promise<Server>> = {
  "one process": async () => {
    const push = await startPushApp({ "push.compression": true, "push.accept-client-message": true });
    return { ...push, publish: (data) => push.publish({ targetType: "all", data }) };
  },
  "three workers": async () => {
    const verify = startVerifyService();
    const push = await startWorkers(3, {
      "push-verify-uri": verify.url,
      "push-compression": "true",
      "push-accept-client-message": "true",
    });
    return {
      port: Number(new URL(push.url).port),
      url: push.url,
      publish: (data) => push.publish({ targetType: "all", data }),
      async stop() {
        await push.stop();
        await verify.stop();
      },
    };
  },
};

/** Marks a frame as compressed. */
function compressedFrame(payload: Buffer): Buffer {
  const frame = maskedFrame(1, payload);
  frame[0] = (frame[0] ?? 0) | 0x40;
  return frame;
}

const deflated = (text: Buffer) => Buffer.concat([deflateRawSync(text), Buffer.alloc(1)]);
const textOf = (payload: Buffer) =>
  inflateRawSync(payload, { finishFlush: constants.Z_SYNC_FLUSH }).toString();

describe.each(Object.entries(modes))("push.compression, %s", (_mode, start) => {
  let server: Server;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());

  const open = (query: string, protocols?: string[]) =>
    PushClient.open(`${server.url.replace("http", "ws")}/ws?${query}`, protocols);

  test("a client that negotiates it and one that does not receive the same", async () => {
    const compressing = await open("code=ann", ["slipway.v1"]);
    expect(compressing.socket.extensions).toContain("permessage-deflate");
    const raw = await open("code=bob");
    const plain = new RawSocket(server.port);
    expect((await plain.upgrade("/ws?code=cid")).headers.has("sec-websocket-extensions")).toBe(false);
    for (const text of [long, short, long]) await server.publish(text);
    await eventually("all arrive", () => compressing.messages.length === 3 && raw.frames.length === 3);
    await eventually("all arrive uncompressed", () => plain.frames().length === 3);
    expect(compressing.messages).toEqual([long, short, long]);
    expect(raw.frames).toEqual([long, short, long]);
    expect(plain.frames().map(({ payload }) => payload.toString())).toEqual([long, short, long]);
    for (const client of [compressing, raw]) client.close();
    plain.end();
  });

  test("long messages are compressed on the wire, short ones are not", async () => {
    const client = new RawSocket(server.port);
    const { headers } = await client.upgrade("/ws?code=ann", offer);
    // Without memory of earlier messages, on both sides.
    expect(headers.get("sec-websocket-extensions")).toContain("server_no_context_takeover");
    expect(headers.get("sec-websocket-extensions")).toContain("client_no_context_takeover");
    for (const text of [long, short]) await server.publish(text);
    await eventually("both arrive", () => client.frames().length === 2);
    const [first, second] = client.frames().map(({ payload }) => payload);
    expect(first?.length).toBeLessThan(long.length / 4);
    expect(textOf(first ?? Buffer.alloc(0))).toBe(long);
    expect(second?.toString()).toBe(short);
    client.end();
  });

  test("missed messages arrive after a resume", async () => {
    const before = await open("code=dan", ["slipway.v1"]);
    await server.publish("first");
    const [message] = await before.receivedType("message");
    before.close();
    await before.ended();
    await server.publish(long);
    const after = await open(`code=dan&resume=${message?.position}`, ["slipway.v1"]);
    expect((await after.receivedType("welcome"))[0]?.recovered).toBe(true);
    await eventually("it arrives", () => after.messages.length === 1);
    expect(after.messages).toEqual([long]);
    after.close();
  });

  test("a compressed message is read, and one that is too long once inflated closes the connection", async () => {
    const client = new RawSocket(server.port);
    await client.upgrade("/ws?code=eve", offer);
    // The heartbeat is answered with itself.
    client.write(compressedFrame(deflated(Buffer.from("ping"))));
    await eventually("the heartbeat is answered", () => client.frames().length === 1);
    expect(client.frames()[0]?.payload.toString()).toBe("ping");
    client.write(compressedFrame(deflated(Buffer.alloc(20 * 1024 * 1024))));
    await client.ended();
    const other = await open("code=fay");
    await server.publish(short);
    expect(await other.received(1)).toEqual([short]);
    other.close();
  });
});

test("without the setting it is not negotiated", async () => {
  const push = await startPushApp();
  const client = new RawSocket(push.port);
  expect((await client.upgrade("/ws?code=ann", offer)).headers.has("sec-websocket-extensions")).toBe(false);
  await push.publish({ targetType: "all", data: long });
  await eventually("it arrives", () => client.frames().length === 1);
  expect(client.frames()[0]?.payload.toString()).toBe(long);
  client.end();
  await push.stop();
});
