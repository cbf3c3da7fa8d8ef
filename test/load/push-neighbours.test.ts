import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { pick } from "../support/length.ts";
import { PushClient } from "../support/push-client.ts";
import { maskedFrame, RawSocket, upgradeHeaders } from "../support/raw-socket.ts";
import { startReader } from "../support/reader.ts";

/** Stopped, slow, flooding and knocking clients: what those who behave notice of them. */
let server: Bun.Subprocess<"ignore", "pipe", "inherit">;
let port: number;
let friend: PushClient;
const measurements = pick(150, 1500);

beforeAll(async () => {
  server = Bun.spawn([process.execPath, join(import.meta.dir, "../support/push-server-process.ts")], {
    stdout: "pipe",
    stderr: "inherit",
  });
  for await (const chunk of server.stdout) {
    port = Number(new TextDecoder().decode(chunk));
    break;
  }
  friend = await PushClient.open(`ws://127.0.0.1:${port}/ws?code=friend`);
}, 60_000);

afterAll(async () => {
  friend.close();
  server.kill("SIGKILL");
  await server.exited;
});

async function publish(body: object): Promise<void> {
  await fetch(`http://127.0.0.1:${port}/feign/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Milliseconds from publish to arrival, the 99th percentile of many, one at a time. */
async function p99(): Promise<number> {
  const took: number[] = [];
  for (let count = 0; count < measurements; count++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    friend.socket.addEventListener("message", () => resolve(), { once: true });
    const startedAt = performance.now();
    void publish({ targetType: "user", target: "friend", data: String(count) });
    await promise;
    took.push(performance.now() - startedAt);
    await Bun.sleep(1);
  }
  took.sort((a, b) => a - b);
  return took[Math.floor(took.length * 0.99)] ?? 0;
}

async function residentMegabytes(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^slipway_process_resident_memory_bytes (\d+)/m.exec(text)?.[1]) / 1024 ** 2;
}

/** Keeps doing it until told to stop. */
function keep(action: () => Promise<void>, pauseMs: number): () => Promise<void> {
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      await action().catch(() => {});
      await Bun.sleep(pauseMs);
    }
  })();
  return async () => {
    isOver = true;
    await running;
  };
}

async function flood(): Promise<void> {
  const socket = new RawSocket(port);
  await socket.upgrade("/ws?code=flooder");
  socket.write(Buffer.concat(Array.from({ length: 200 }, () => maskedFrame(1, Buffer.alloc(500, 65)))));
  await socket.closeCode();
  socket.end();
}

async function knock(): Promise<void> {
  const socket = new RawSocket(port);
  socket.request("GET", "/ws?code=bad", upgradeHeaders);
  await socket.answer();
  socket.end();
}

async function garbage(): Promise<void> {
  const socket = new RawSocket(port);
  await socket.upgrade("/ws?code=mallory");
  socket.write(Buffer.alloc(2000, 0xff));
  await socket.ended();
}

describe("those who behave", () => {
  test("keep their latency, and memory returns, while others are stopped, slow, flooding, sending garbage and knocking with bad codes", async () => {
    await p99();
    const [quiet, before] = [await p99(), await residentMegabytes()];
    const stopped = await startReader(`ws://127.0.0.1:${port}/ws?code=stopped`);
    stopped.stopReading();
    const paused = new RawSocket(port);
    await paused.upgrade("/ws?code=paused");
    paused.pause();
    const sendThem = async () => {
      await publish({ targetType: "user", target: "stopped", data: "x".repeat(20_000) });
      await publish({ targetType: "user", target: "paused", data: "x".repeat(20_000) });
    };
    const ends = [keep(flood, 50), keep(knock, 5), keep(garbage, 20), keep(sendThem, 20)];
    const attacked = await p99();
    for (const end of ends) await end();
    await stopped.end();
    paused.end();
    // A loaded machine says nothing about the server; the figure is asked for where the machine is its own.
    const limit = pick(500, Math.max(2 * quiet, quiet + 2));
    console.log(`p99 quiet ${quiet.toFixed(2)} ms, attacked ${attacked.toFixed(2)} ms`);
    expect(attacked).toBeLessThan(limit);
    expect((await residentMegabytes()) - before).toBeLessThan(64);
  }, 240_000);
});
