import { describe, expect, test } from "bun:test";
import pino from "pino";
import { networksOf } from "../../src/http/client-address.ts";
import { hookRoutes } from "../../src/http/routes/hook-route.ts";
import { listenOn } from "../../src/http/server.ts";
import { answerOf } from "../../src/webhook/decide/outcome.ts";
import { setUpApi } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { deliverTo, deliveryOf, makeHook } from "../support/hook.ts";
import { rawRequest } from "../support/raw-http.ts";

const limitBytes = 4096;

const server = await setUpApi({
  "webhook.maxBodyKB": 4,
  "server.trustedProxies": ["127.0.0.0/8", "10.0.0.0/8"],
});
const hook = await makeHook(server, { debounceSeconds: 0 });
const url = await hook.url();
const path = new URL(url).pathname;

function body(bytes: number): string {
  const bare = JSON.stringify({ event: "push", ref: "main", filler: "" });
  return JSON.stringify({ event: "push", ref: "main", filler: "x".repeat(bytes - bare.length) });
}

function head(...lines: string[]): string {
  return [`POST ${path} HTTP/1.1`, "Host: x", "Content-Type: application/json", ...lines, "", ""].join(
    "\r\n",
  );
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

describe("the body", () => {
  test("in chunks of exactly maxBodyKB is accepted, and one byte more is not", async () => {
    const whole = (bytes: number) => [
      head("Transfer-Encoding: chunked"),
      ...(body(bytes).match(/.{1,1000}/g) ?? []).map(chunk),
      "0\r\n\r\n",
    ];
    expect((await rawRequest(url, whole(limitBytes))).status).toBe(202);
    const refused = await rawRequest(url, whole(limitBytes + 1));
    expect(refused.status).toBe(413);
    expect(JSON.parse(refused.body)).toMatchObject({
      status: "rejected",
      code: "body_too_large",
      queued: false,
    });
  });

  test("of many megabytes is answered 413 while it is still being sent, and the sender reads the answer", async () => {
    const megabyte = "x".repeat(1024 * 1024);
    const pieces = Array.from({ length: 20 }, () => megabyte);
    const refused = await rawRequest(url, [head(`Content-Length: ${20 * megabyte.length}`), ...pieces]);
    expect(refused.status).toBe(413);
    const { deliveryId } = JSON.parse(refused.body) as { deliveryId: number };
    expect(await deliveryOf(server.admin, deliveryId)).toMatchObject({
      code: "body_too_large",
      http_status: 413,
    });
  });

  test("that arrives slowly is accepted", async () => {
    const text = body(200);
    const pieces = [
      text.slice(0, 50),
      { waitMs: 150 },
      text.slice(50, 120),
      { waitMs: 150 },
      text.slice(120),
    ];
    expect((await rawRequest(url, [head(`Content-Length: ${text.length}`), ...pieces])).status).toBe(202);
  });

  test("that stalls is refused in time", async () => {
    const routes = hookRoutes({
      maxBodyKB: 4,
      bodyTimeoutMs: 50,
      trustedProxies: networksOf([]),
      receiver: {
        receive: async ({ readBody }) =>
          answerOf({ code: "invalid_payload", reason: `The body is ${await readBody()}.` }, 1),
        close: async () => {},
      },
    });
    const parts = { routes, fetch: () => new Response(), log: pino({ level: "silent" }) };
    const alone = listenOn({ host: "127.0.0.1", port: 0 }, parts);
    const answer = await rawRequest(alone.url.origin, [head("Content-Length: 100"), "{"]);
    expect(JSON.parse(answer.body)).toMatchObject({ reason: "The body is broken." });
    await alone.stop(true);
  });

  test("that is shorter than its Content-Length is refused and recorded", async () => {
    const before = (await lastDelivery()).id as number;
    await rawRequest(url, [head("Content-Length: 500"), body(100)], { halfClose: true });
    const record = await eventuallyNewer(before);
    expect(record).toMatchObject({ status: "failed", code: "invalid_payload" });
  });

  test("that is longer than its Content-Length ends there", async () => {
    const text = body(200);
    const answer = await rawRequest(url, [head(`Content-Length: ${text.length}`), `${text}trailing`]);
    expect(answer.status).toBe(202);
  });

  test("that is missing is not JSON", async () => {
    expect((await rawRequest(url, [head("Content-Length: 0")])).status).toBe(400);
  });

  test("that is compressed is refused with a reason", async () => {
    const answer = await deliverTo(url, {
      body: Bun.gzipSync(Buffer.from(body(200))),
      headers: { "content-encoding": "gzip" },
    });
    expect(answer.status).toBe(400);
    expect(answer.body.reason).toMatch(/compressed/);
  });
});

async function lastDelivery(): Promise<Record<string, unknown>> {
  const list = await server.admin.expect<{ items: Record<string, unknown>[] }>(
    200,
    "GET",
    `/api/webhooks/deliveries?projectId=${hook.projectId}&pageSize=1`,
  );
  return list.items[0] ?? {};
}

async function eventuallyNewer(id: number): Promise<Record<string, unknown>> {
  let last: Record<string, unknown> = {};
  await eventually("a record appears", async () => {
    last = await lastDelivery();
    return (last.id as number) > id;
  });
  return last;
}

describe("the endpoint", () => {
  test("answers other methods with 405 and Allow, without a record", async () => {
    const before = await lastDelivery();
    for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
      const response = await fetch(url, { method });
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "POST"]);
    }
    expect((await lastDelivery()).id).toBe(before.id);
  });

  test("answers malformed keys as missing ones: 404 with a record of project 0", async () => {
    for (const key of [
      "",
      "x",
      "..%2F..%2Fetc%2Fpasswd",
      "a".repeat(10_000),
      `${path.slice(-48)}/more`,
      "%00",
    ]) {
      const response = await fetch(`${server.url}/api/hooks/git/${key}`, { method: "POST", body: "{}" });
      const said = (await response.json()) as Record<string, unknown>;
      expect([key.slice(0, 20), response.status, said.code]).toEqual([
        key.slice(0, 20),
        404,
        "endpoint_not_found",
      ]);
      expect(await deliveryOf(server.admin, said.deliveryId)).toMatchObject({ project_id: 0, body: "" });
    }
  });

  test("records the right-most untrusted address of X-Forwarded-For behind a trusted proxy", async () => {
    const answer = await hook.deliver({
      payload: { event: "push", ref: "main" },
      headers: { "x-forwarded-for": "6.6.6.6, 203.0.113.7, 10.0.0.3" },
    });
    expect(await deliveryOf(server.admin, answer.body.deliveryId)).toMatchObject({
      remote_ip: "203.0.113.7",
    });
  });
});
