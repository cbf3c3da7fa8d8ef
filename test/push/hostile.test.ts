import { afterEach, describe, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { pick } from "../support/length.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { maskedFrame, RawSocket, upgradeHeaders } from "../support/raw-socket.ts";

let push: PushApp;

afterEach(() => push.stop());

const placesTaken = () => push.metric("slipway_push_places_taken");

/** A well-behaved client, to check that it is not affected. */
async function friend(): Promise<PushClient> {
  return PushClient.open(`${push.wsUrl}?code=friend`);
}

async function stillServes(client: PushClient): Promise<void> {
  client.frames.length = 0;
  await push.publish({ targetType: "user", target: "friend", data: "are you well?" });
  expect(await client.received(1)).toEqual(["are you well?"]);
  client.close();
  await eventually("every place is free", async () => (await placesTaken()) === 0);
}

describe("clients that mean no good", () => {
  test("garbage frames close their own connection only", async () => {
    push = await startPushApp();
    const client = await friend();
    const garbage: Buffer[] = [
      Buffer.alloc(64, 0xff),
      Buffer.from([0x81, 0x05, 1, 2, 3, 4, 5]),
      Buffer.from([0xc1, 0x80, 0, 0, 0, 0]),
      Buffer.from([0x83, 0x80, 0, 0, 0, 0]),
      Buffer.from([0x89, 0xfe, 0, 200, 0, 0, 0, 0]),
      Buffer.from([0x80, 0x80, 0, 0, 0, 0]),
      Buffer.from([0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
      maskedFrame(1, Buffer.from([0xff, 0xfe, 0xfd])),
      maskedFrame(8, Buffer.from([0x03])),
      maskedFrame(8, Buffer.from([0x00, 0x00])),
    ];
    for (const bytes of garbage) {
      const socket = new RawSocket(push.port);
      await socket.upgrade("/ws?code=mallory");
      socket.write(bytes);
      await socket.ended();
    }
    for (let round = 0; round < 20; round++) {
      const socket = new RawSocket(push.port);
      await socket.upgrade("/ws?code=mallory");
      socket.write(crypto.getRandomValues(Buffer.alloc(2000)));
      socket.end();
    }
    await stillServes(client);
  });

  test("handshakes cut off at every byte leave nothing behind", async () => {
    push = await startPushApp();
    const client = await friend();
    const lines = Object.entries({ Host: "x", ...upgradeHeaders }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const whole = `GET /ws?code=mallory HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
    for (let length = 1; length <= whole.length; length += pick(11, 1)) {
      const socket = new RawSocket(push.port);
      socket.write(whole.slice(0, length));
      await eventually("it is written", () => socket.socket.bytesWritten >= length);
      socket.end();
    }
    await stillServes(client);
  });

  test("a client that floods is closed with 4301 and the others keep getting their messages", async () => {
    push = await startPushApp({ "push.accept-client-message": true });
    const client = await friend();
    const flood = Buffer.concat(Array.from({ length: 2000 }, () => maskedFrame(1, Buffer.alloc(1000, 65))));
    for (let round = 0; round < 5; round++) {
      const socket = new RawSocket(push.port);
      await socket.upgrade("/ws?code=mallory");
      socket.write(flood);
      expect(await socket.closeCode()).toBe(4301);
    }
    await stillServes(client);
  });

  test("handshakes with malformed headers get a response or a close, and leave nothing behind", async () => {
    push = await startPushApp();
    const client = await friend();
    const heads = [
      { path: "/ws?code=%", headers: {} },
      { path: "/ws?code=%ff%fe", headers: {} },
      { path: "/ws?code=a&channel=%00&resume=%00", headers: {} },
      { path: "/ws?code=a", headers: { Host: "[" } },
      { path: "/ws?code=a", headers: { Host: "a b:c" } },
      { path: "/ws?code=a", headers: { Origin: "::::" } },
      { path: "/ws?code=a", headers: { "Sec-WebSocket-Key": "short" } },
      { path: "/ws?code=a", headers: { "Sec-WebSocket-Protocol": ",,;" } },
      { path: `/ws?code=a${"&channel=x".repeat(800)}`, headers: {} },
      { path: "//ws?code=a", headers: {} },
    ];
    for (const { path, headers } of heads) {
      const socket = new RawSocket(push.port);
      socket.request("GET", path, { ...upgradeHeaders, ...headers });
      await eventually(`an answer to ${path}`, () => socket.isClosed || socket.hasAnswer);
      socket.end();
    }
    await stillServes(client);
  });

  test("so is one of joins and leaves", async () => {
    push = await startPushApp();
    const client = await PushClient.open(`${push.wsUrl}?code=mallory`, ["slipway.v1"]);
    for (let sent = 0; sent < 600; sent++)
      client.send(JSON.stringify({ type: sent % 2 === 0 ? "join" : "leave", channel: "c" }));
    expect((await client.ended()).code).toBe(4301);
  });

  test.each([
    ["pings", 9],
    ["unasked pongs", 10],
  ])("a flood of %s is a flood too", async (_name, opcode) => {
    push = await startPushApp();
    const socket = new RawSocket(push.port);
    await socket.upgrade("/ws?code=mallory");
    socket.write(Buffer.concat(Array.from({ length: 200 }, () => maskedFrame(opcode, Buffer.from("x")))));
    expect(await socket.closeCode()).toBe(4301);
  });

  const attempts = pick(2000, 50_000);
  test(`${attempts} connection attempts with bad codes: all refused, and memory returns to where it was`, async () => {
    push = await startPushApp();
    const client = await friend();
    const heapBefore = await collectedHeap();
    let refused = 0;
    const attack = async () => {
      // Keep-alive connections, so that the refusals are as fast as the verify service.
      const socket = new RawSocket(push.port);
      for (let made = 0; made < attempts / 50; made++) {
        socket.request("GET", `/ws?code=bad-${made}`, upgradeHeaders);
        if ((await socket.answer()).status === 401) refused++;
      }
      socket.end();
    };
    await Promise.all(Array.from({ length: 50 }, attack));
    expect(refused).toBe(attempts);
    expect(await push.metric('slipway_push_admissions_total{result="rejected"}')).toBe(attempts);
    push.verify.requests.length = 0;
    expect((await collectedHeap()) - heapBefore).toBeLessThan(16 * 1024 * 1024);
    await stillServes(client);
  }, 300_000);
});

async function collectedHeap(): Promise<number> {
  Bun.gc(true);
  // What finalizers release is collected by the second run.
  await new Promise(setImmediate);
  Bun.gc(true);
  return process.memoryUsage().heapUsed;
}
