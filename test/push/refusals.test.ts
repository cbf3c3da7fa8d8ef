import { afterEach, describe, expect, test } from "bun:test";
import type { Config } from "../../src/config/config.ts";
import { freshPrefix, keptLog } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { type HttpAnswer, RawSocket, upgradeHeaders } from "../support/raw-socket.ts";
import { serviceUrl } from "../support/services.ts";

interface Refusal {
  because: string;
  status: number;
  code: number;
  /** Close code of reject-mode `close`; null: the refusal is an HTTP response in both modes. */
  close: number | null;
  retryAfter: boolean;
  settings?: Partial<Config>;
  /** Brings the service into a state in which it refuses. */
  prepare?(push: PushApp): Promise<void>;
  path?: string;
  headers?: Record<string, string>;
  /** Connections that `prepare` left open. */
  openBefore?: number;
}

const notUpgrade = { Upgrade: "", "Sec-WebSocket-Key": "" };

const table: Refusal[] = [
  { because: "the code is missing", status: 400, code: 40006, close: 4000, retryAfter: false, path: "/ws" },
  {
    because: "the code is empty",
    status: 400,
    code: 40006,
    close: 4000,
    retryAfter: false,
    path: "/ws?code=",
  },
  {
    because: "the code is longer than 4096 bytes",
    status: 400,
    code: 40006,
    close: 4000,
    retryAfter: false,
    path: `/ws?code=${"x".repeat(4097)}`,
  },
  {
    because: "verification said no",
    status: 401,
    code: 40102,
    close: 4001,
    retryAfter: false,
    path: "/ws?code=bad",
  },
  {
    because: "of its origin",
    status: 403,
    code: 40301,
    close: 4002,
    retryAfter: false,
    settings: { "push.allowed-origins": ["https://app.example.com"] },
    headers: { Origin: "https://app.example.com.evil.com" },
  },
  {
    because: "it is not an upgrade",
    status: 426,
    code: 42601,
    close: null,
    retryAfter: false,
    headers: notUpgrade,
  },
  {
    because: "the websocket version is not 13",
    status: 426,
    code: 42601,
    close: null,
    retryAfter: false,
    headers: { "Sec-WebSocket-Version": "8" },
  },
  {
    because: "of the connect rate",
    status: 429,
    code: 42901,
    close: 4100,
    retryAfter: true,
    settings: { "push.connect-rate": 1 },
    path: "/ws?code=bad",
  },
  {
    because: "of the per-user limit",
    status: 429,
    code: 42902,
    close: 4100,
    retryAfter: true,
    settings: { "push.max-connections-per-user": 1 },
    prepare: async (push) => void (await PushClient.open(`${push.wsUrl}?code=ann`)),
    openBefore: 1,
  },
  {
    because: "it is full",
    status: 503,
    code: 50302,
    close: 4100,
    retryAfter: true,
    settings: { "push.max-connections": 1 },
    prepare: async (push) => void (await PushClient.open(`${push.wsUrl}?code=bob`)),
    openBefore: 1,
  },
  {
    because: "verify-uri is unreachable",
    status: 503,
    code: 50304,
    close: 4100,
    retryAfter: true,
    prepare: (push) => push.verify.stop(),
  },
  {
    because: "the verify answer is not understood",
    status: 503,
    code: 50304,
    close: 4100,
    retryAfter: true,
    async prepare(push) {
      push.verify.answer = () =>
        new Response("<html>welcome</html>", { headers: { "content-type": "text/html" } });
    },
  },
];

const broker = await serviceUrl("amqp");
let other: PushApp | null = null;
/** Only an instance beside another one drains over the period. */
const besideAnother = {
  "push.cluster-enabled": true,
  "push.queue.url": broker,
  "push.queue.prefix": freshPrefix(),
};
if (broker !== undefined)
  table.push({
    because: "it is draining",
    status: 503,
    code: 50303,
    close: 4100,
    retryAfter: true,
    // The first connection closes at once, the second hours later, so the server lives as long as the test.
    settings: { ...besideAnother, "push.drain-period": 24 * 3_600_000 },
    async prepare(push) {
      other = await startPushApp({ ...besideAnother, "push.queue.instance-id": "another" });
      const knows = async () => (await push.metric("slipway_push_cluster_instances")) > 1;
      await eventually("it knows of the other instance", knows);
      await PushClient.open(`${push.wsUrl}?code=bob`);
      await PushClient.open(`${push.wsUrl}?code=bob`);
      void push.app.stop();
      await eventually("it refuses", async () => (await push.get("/readyz")).status === 503);
      await eventually("one is closed", async () => (await push.metric("slipway_push_places_taken")) === 1);
    },
    openBefore: 1,
  });

let push: PushApp | null = null;
let raw: RawSocket | null = null;

afterEach(async () => {
  raw?.end();
  const stopping = push;
  push = null;
  // A stop may wait for clients that the case has left open.
  if (stopping) await Promise.race([stopping.stop(), Bun.sleep(300)]);
  await other?.stop();
  other = null;
});

async function handshake(
  { port }: PushApp,
  path: string,
  headers: Record<string, string>,
): Promise<{ socket: RawSocket; answer: HttpAnswer }> {
  const socket = new RawSocket(port);
  socket.request("GET", path, withoutEmpty({ ...upgradeHeaders, ...headers }));
  return { socket, answer: await socket.answer() };
}

function withoutEmpty(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ""));
}

async function refused(row: Refusal, rejectMode: "http" | "close"): Promise<HttpAnswer> {
  const app = await startPushApp({ ...row.settings, "push.reject-mode": rejectMode });
  push = app;
  await row.prepare?.(app);
  // The rate counts whole seconds: the second of two attempts may be in the next second, the tenth is not.
  const attempts = row.settings?.["push.connect-rate"] ? 10 : 1;
  const made = await Promise.all(
    Array.from({ length: attempts }, () => handshake(app, row.path ?? "/ws?code=ann", row.headers ?? {})),
  );
  const refusals = await Promise.all(made.map(async (one) => ({ ...one, isMeant: await isMeant(one, row) })));
  const { socket, answer } = refusals.find((one) => one.isMeant) ?? made[0] ?? raise("nothing was tried");
  raw = socket;
  return answer;
}

/** Whether the attempt was refused as the row expects. */
async function isMeant(
  { socket, answer }: { socket: RawSocket; answer: HttpAnswer },
  row: Refusal,
): Promise<boolean> {
  if (answer.status === 200) return answer.body.includes(String(row.code));
  return answer.status === 101 ? (await socket.closeCode()) === row.close : answer.status === row.status;
}

function raise(message: string): never {
  throw new Error(message);
}

describe("a refused handshake returns the failure envelope", () => {
  test.each(table)("refused because $because: $status and $code", async (row) => {
    const answer = await refused(row, "http");
    expect(answer.status).toBe(row.status);
    const body = JSON.parse(answer.body) as Record<string, unknown>;
    expect(Object.keys(body)).toEqual(["code", "successful", "message"]);
    expect(body).toMatchObject({ code: row.code, successful: false });
    expect(answer.headers.has("retry-after")).toBe(row.retryAfter);
    // It tells a refusal of the gateway from one of a proxy.
    expect(answer.headers.get("x-push-refusal")).toBe(row.status === 426 ? undefined : String(row.code));
    expect(await push?.metric("slipway_push_places_taken")).toBe(row.openBefore ?? 0);
  });
});

const ofStreams = table.filter((row) => row.close !== null);

/** The answer to the same request for an event stream. */
async function refusedStream(row: Refusal, accept: string): Promise<HttpAnswer> {
  const path = (row.path ?? "/ws?code=ann").replace("/ws", "/sse");
  return refused({ ...row, path, headers: { ...row.headers, ...notUpgrade, Accept: accept } }, "http");
}

describe("a refused event stream", () => {
  test.each(ofStreams)(
    "refused because $because: $status and $code to a client that takes anything",
    async (row) => {
      const answer = await refusedStream(row, "*/*");
      expect(answer.status).toBe(row.status);
      expect(JSON.parse(answer.body)).toMatchObject({ code: row.code, successful: false });
      expect(answer.headers.has("retry-after")).toBe(row.retryAfter);
      expect(await push?.metric("slipway_push_places_taken")).toBe(row.openBefore ?? 0);
    },
  );

  test.each(ofStreams)("refused because $because: an event to a client that asks for events", async (row) => {
    const { status, headers, body } = await refusedStream(row, "text/event-stream");
    expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const [, retry, data = ""] = /^retry: (\d+)\n\nevent: refused\ndata: (.*)\n\n$/.exec(body) ?? [];
    expect(JSON.parse(data)).toMatchObject({ status: row.status, code: row.code, closeCode: row.close });
    expect(typeof JSON.parse(data).retryAfter).toBe(row.retryAfter ? "number" : "object");
    expect(Number(retry)).toBeGreaterThanOrEqual(60_000);
    expect(await push?.metric("slipway_push_places_taken")).toBe(row.openBefore ?? 0);
  });
});

describe("reject-mode close upgrades, then closes with a 4xxx code that browsers can read", () => {
  test.each(table.filter((row) => row.close !== null))(
    "refused because $because: close $close",
    async (row) => {
      const answer = await refused(row, "close");
      expect(answer.status).toBe(101);
      expect(await raw?.closeCode()).toBe(row.close ?? 0);
      await raw?.ended();
      expect(await push?.metric('slipway_push_connections{kind="normal"}')).toBe(row.openBefore ?? 0);
      expect(await push?.metric("slipway_push_places_taken")).toBe(row.openBefore ?? 0);
    },
  );

  test("a request without upgrade gets an HTTP response also in reject-mode close", async () => {
    const row = table.find(({ code }) => code === 42601);
    expect((await refused(row ?? raise("the table has no such row"), "close")).status).toBe(426);
  });
});

describe("checks are in the contract's order", () => {
  test("origin is checked before code, code before a place, and a refusal does not call verify-uri", async () => {
    push = await startPushApp({
      "push.allowed-origins": ["https://app.example.com"],
      "push.max-connections": 1,
    });
    const statusOf = async (path: string, headers: Record<string, string>) => {
      if (!push) throw new Error("not started");
      const { socket, answer } = await handshake(push, path, headers);
      if (answer.status !== 101) socket.end();
      return answer.status;
    };
    const evil = { Origin: "https://evil.example.com" };
    expect(await statusOf("/ws", { ...notUpgrade, ...evil })).toBe(426);
    expect(await statusOf("/ws", evil)).toBe(403);
    expect(await statusOf("/ws", {})).toBe(400);
    expect(push.verify.requests).toEqual([]);
    expect(await statusOf("/ws?code=ann", { Origin: "https://app.example.com" })).toBe(101);
    expect(await statusOf("/ws?code=bad", {})).toBe(503);
    expect(push.verify.requests.length).toBe(1);
  });
});

test("a full server writes one line in ten seconds, with what to do, and its refusals are counted from 0", async () => {
  const { log, lines } = keptLog();
  push = await startPushApp({ "push.max-connections": 1 }, log);
  const full = 'slipway_push_admissions_total{result="full"}';
  expect(await push.metric(full)).toBe(0);
  await PushClient.open(`${push.wsUrl}?code=bob`);
  for (let attempt = 0; attempt < 20; attempt++) {
    const { socket, answer } = await handshake(push, "/ws?code=ann", {});
    socket.end();
    expect(answer.status).toBe(503);
  }
  expect(await push.metric(full)).toBe(20);
  expect(lines.filter(({ level }) => level === 40)).toMatchObject([
    { refused: 1, connections: 1, msg: expect.stringContaining("raise push.max-connections") },
  ]);
});
