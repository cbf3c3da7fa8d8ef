import { afterEach, describe, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { startPushProcess } from "../support/push-process.ts";
import { maskedFrame, RawSocket } from "../support/raw-socket.ts";
import { type Reader, startReader } from "../support/reader.ts";
import { openV1, transports } from "../support/transports.ts";
import { startVerifyService } from "../support/verify-service.ts";

let push: PushApp;
let reader: Reader | null = null;

afterEach(async () => {
  await reader?.end();
  reader = null;
  await push.stop();
});

const pongTimeoutMs = 1500;
const closes = () => push.metric('slipway_push_closes_total{code="4201"}');

describe("heartbeat", () => {
  test("a native ping carries heartbeat-content every ping-interval", async () => {
    push = await startPushApp({ "push.ping-interval": 100, "push.heartbeat-content": "are you there?" });
    const socket = new RawSocket(push.port);
    await socket.upgrade("/ws?code=ann");
    const pings = () => socket.frames().filter((frame) => frame.opcode === 9);
    await eventually("three pings arrive", () => pings().length >= 3);
    expect(pings()[0]?.payload.toString()).toBe("are you there?");
    socket.end();
  });

  test("silence for pong-timeout closes with 4201", async () => {
    push = await startPushApp({ "push.ping-interval": 100, "push.pong-timeout": 400 });
    const silent = new RawSocket(push.port);
    await silent.upgrade("/ws?code=ann");
    expect(await silent.closeCode()).toBe(4201);
    expect(await push.online()).toEqual([]);
  });

  test("any inbound frame proves life: a text, a ping, an unasked pong", async () => {
    push = await startPushApp({
      "push.ping-interval": 200,
      "push.pong-timeout": 1000,
      "push.client-message-rate": 0,
    });
    const opcodes = [1, 9, 10];
    const sockets = await Promise.all(
      opcodes.map(async () => {
        const socket = new RawSocket(push.port);
        await socket.upgrade("/ws?code=ann");
        return socket;
      }),
    );
    const until = Date.now() + 2500;
    while (Date.now() < until) {
      for (const [index, socket] of sockets.entries())
        socket.write(maskedFrame(opcodes[index] ?? 0, Buffer.from("hi")));
      // Several frames in each pong-timeout.
      await Bun.sleep(50);
    }
    for (const socket of sockets) {
      expect(socket.frames().some((frame) => frame.opcode === 8)).toBe(false);
      socket.end();
    }
  });

  test.each(transports)("a client of %s that answers pings or reads stays connected", async (transport) => {
    push = await startPushApp({ "push.ping-interval": 100, "push.pong-timeout": 500 });
    const client = await openV1(transport, push.url, "code=ann");
    // Three times the pong-timeout: that nothing happens has no event.
    await Bun.sleep(1500);
    expect(client.closed).toBeNull();
    client.close();
  });

  test("a gateway that was suspended for longer than pong-timeout keeps the clients that still answer", async () => {
    push = await startPushApp();
    const verify = startVerifyService();
    const gateway = await startPushProcess("suspended", {
      "push-verify-uri": verify.url,
      "push-ping-interval": "300ms",
      "push-pong-timeout": "4s",
    });
    const metric = async (name: string) => {
      const text = await (await fetch(`${gateway.url}/metrics`)).text();
      return Number(
        text
          .split("\n")
          .find((line) => line.startsWith(`${name} `))
          ?.split(" ")[1] ?? 0,
      );
    };
    try {
      const clients = await Promise.all(
        Array.from({ length: 20 }, () => PushClient.open(`${gateway.url.replace("http", "ws")}/ws?code=ann`)),
      );
      const silent = new RawSocket(Number(new URL(gateway.url).port));
      await silent.upgrade("/ws?code=bob");
      process.kill(gateway.pid, "SIGSTOP");
      // Longer than pong-timeout.
      await Bun.sleep(5_000);
      process.kill(gateway.pid, "SIGCONT");
      // A client that does not answer is closed as before.
      expect(await silent.closeCode(30_000)).toBe(4201);
      expect(clients.filter(({ closed }) => closed !== null)).toEqual([]);
      expect(await metric('slipway_push_closes_total{code="4201"}')).toBe(1);
      for (const client of clients) client.close();
    } finally {
      await gateway.stop();
      await verify.stop();
    }
  });

  test("a client that is stopped (SIGSTOP) while the server keeps sending to it is closed within pong-timeout plus one tick", async () => {
    push = await startPushApp({ "push.ping-interval": 300, "push.pong-timeout": pongTimeoutMs });
    reader = await startReader(`${push.wsUrl}?code=ann`);
    await push.publish({ targetType: "user", target: "ann", data: "before" });
    await eventually("it reads", () => reader?.received === 1);
    reader.stopReading();
    const stoppedAt = performance.now();
    let sent = 0;
    while ((await push.online()).length > 0 && performance.now() - stoppedAt < 20_000) {
      await push.publish({ targetType: "user", target: "ann", data: `still sending ${sent++}` });
      // The server keeps sending, at a moderate rate.
      await Bun.sleep(20);
    }
    const tookMs = performance.now() - stoppedAt;
    expect(sent).toBeGreaterThan(1);
    expect(await closes()).toBe(1);
    // Its last pong is up to one ping interval older than the stop; only a busy machine adds more.
    expect(tookMs).toBeGreaterThan(pongTimeoutMs - 600);
    expect(tookMs).toBeLessThan(pongTimeoutMs + 8000);
  });
});
