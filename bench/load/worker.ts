/**
 * Load generator of the push gateway. Runs as a separate process, so that its cost is not measured as the server's. Takes
 * one order at a time by IPC and answers with the result.
 */
import type { Socket } from "bun";
import { SignJWT } from "jose";
import type { Order, OrderResult } from "../load-process.ts";
import {
  type ClientKind,
  type Counter,
  mark,
  openSocket,
  Poster,
  postRequest,
  publishRequest,
} from "../raw-client.ts";

const counter: Counter = { bytes: 0, marks: 0 };
const held: Socket<unknown>[] = [];
const issued: string[] = [];
let closed = 0;

const orders: { [K in Order["type"]]: (order: Extract<Order, { type: K }>) => Promise<OrderResult> } = {
  hold: ({ url, count, prefix, atOnce, kind }) =>
    open(url, count, atOnce, (index) => `${prefix}${index}`, kind),

  async issue({ url, token, count, atOnce }) {
    const target = new URL(url);
    const posters = await Promise.all(Array.from({ length: atOnce }, () => Poster.connect(target)));
    const startedAt = performance.now();
    let next = 0;
    let failed = 0;
    const run = async (poster: Poster) => {
      while (next < count) {
        const body = JSON.stringify({ userId: `user${next++}` });
        const status = await poster.post(postRequest(target, "/api/push/codes", body, `Bearer ${token}`));
        if (status === 201) issued.push((JSON.parse(poster.body) as { code: string }).code);
        else failed++;
      }
    };
    await Promise.all(posters.map(run));
    const seconds = (performance.now() - startedAt) / 1000;
    for (const poster of posters) poster.close();
    return { count: count - failed, failed, seconds };
  },

  async sign({ secret, count }) {
    const startedAt = performance.now();
    for (let index = 0; index < count; index++)
      issued.push(
        await new SignJWT({ sub: `user${index}` })
          .setProtectedHeader({ alg: "HS256" })
          .setExpirationTime("1h")
          .sign(Buffer.from(secret)),
      );
    return { count, failed: 0, seconds: (performance.now() - startedAt) / 1000 };
  },

  holdIssued({ url, atOnce }) {
    const codes = issued.splice(0);
    return open(url, codes.length, atOnce, (index) => codes[index] ?? "");
  },

  async release() {
    const count = held.length;
    for (const socket of held.splice(0)) socket.terminate();
    return { count, failed: 0, seconds: 0 };
  },

  /** Publishes to all in bursts; each burst starts a pause after all connections received the last one. */
  async broadcast({ url, messages, burst, dataBytes, pauseMs, kind = "raw" }) {
    const target = new URL(url);
    const posters = await Promise.all(Array.from({ length: burst }, () => Poster.connect(target)));
    const request = publishRequest(target, { targetType: "all", data: mark.padEnd(dataBytes, "x") });
    const [unit, perMessage] =
      kind === "raw" ? (["bytes", dataBytes + (dataBytes < 126 ? 2 : 4)] as const) : (["marks", 1] as const);
    let failed = 0;
    const startedAt = performance.now();
    let expected = counter[unit];
    for (let sent = 0; sent < messages; sent += burst) {
      expected += burst * held.length * perMessage;
      const statuses = await Promise.all(posters.map((poster) => poster.post(request)));
      failed += statuses.filter((status) => status !== 200).length;
      await untilReceived(unit, expected);
      await Bun.sleep(pauseMs);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    for (const poster of posters) poster.close();
    return { count: messages * held.length, failed: failed + closed, seconds };
  },

  async batch({ url, prefix, users, dataBytes }) {
    const names = Array.from({ length: users }, (_, index) => `${prefix}${index}`);
    const body = JSON.stringify({ users: names, data: "x".repeat(dataBytes) });
    const headers = { "content-type": "application/json" };
    const startedAt = performance.now();
    const response = await fetch(`${url}/feign/publishBatch`, { method: "POST", headers, body });
    await response.arrayBuffer();
    const seconds = (performance.now() - startedAt) / 1000;
    return { count: users, failed: response.ok ? 0 : users, seconds };
  },

  /** Publishes to one user after the other, as fast as the answers come. */
  async target({ url, requests, atOnce, prefix, users, dataBytes, ack = false }) {
    const target = new URL(url);
    const posters = await Promise.all(Array.from({ length: atOnce }, () => Poster.connect(target)));
    const data = "x".repeat(dataBytes);
    const texts = Array.from({ length: Math.min(users, 5_000) }, (_, index) => {
      const user = Math.floor((index * users) / Math.min(users, 5_000));
      return publishRequest(target, { targetType: "user", target: `${prefix}${user}`, data, ack });
    });
    let next = 0;
    let failed = 0;
    const startedAt = performance.now();
    const run = async (poster: Poster) => {
      while (next < requests) {
        const status = await poster.post(texts[next++ % texts.length] ?? "");
        if (status !== 200) failed++;
      }
    };
    await Promise.all(posters.map(run));
    const seconds = (performance.now() - startedAt) / 1000;
    for (const poster of posters) poster.close();
    return { count: requests, failed, seconds };
  },
};

async function open(
  url: string,
  count: number,
  atOnce: number,
  codeOf: (index: number) => string,
  kind: ClientKind = "raw",
): Promise<OrderResult> {
  const startedAt = performance.now();
  const target = new URL(url);
  let next = 0;
  let refused = 0;
  const run = async () => {
    while (next < count) {
      const { socket } = await openSocket(target, codeOf(next++), counter, () => closed++, kind);
      if (socket) held.push(socket);
      else refused++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  return { count: count - refused, failed: refused, seconds: (performance.now() - startedAt) / 1000 };
}

const arrivalDeadlineMs = 30_000;

async function untilReceived(unit: keyof Counter, expected: number): Promise<void> {
  const deadline = performance.now() + arrivalDeadlineMs;
  while (counter[unit] < expected) {
    if (performance.now() > deadline)
      throw new Error(`${expected - counter[unit]} ${unit} of messages did not arrive`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

process.on("message", async (order: Order) => {
  try {
    process.send?.(await orders[order.type](order as never));
  } catch (error) {
    process.send?.({ count: 0, failed: 1, seconds: 0, error: String(error) });
  }
});
process.on("disconnect", () => process.exit(0));
