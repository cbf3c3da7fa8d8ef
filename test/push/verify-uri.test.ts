import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { connect as connectTcp, createServer } from "node:net";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { RawSocket, upgradeHeaders } from "../support/raw-socket.ts";

let push: PushApp;

beforeEach(async () => {
  push = await startPushApp();
});

afterEach(() => push.stop());

async function statusOf(query = "?code=ann", app = push): Promise<number> {
  const socket = new RawSocket(app.port);
  socket.request("GET", `/ws${query}`, upgradeHeaders);
  const { status } = await socket.answer();
  if (status !== 101) socket.end();
  return status;
}

const json = (value: unknown, status = 200) => Response.json(value, { status });

describe("accepted responses", () => {
  const understood: [string, unknown][] = [
    [
      "the envelope with data a string",
      { code: 0, successful: true, msg: null, data: "ann", encrypt: false },
    ],
    ["the envelope with data an object", { code: 0, successful: true, data: { userId: "ann" } }],
    ["the envelope without successful", { code: 0, data: "ann" }],
    ["the envelope without code", { successful: true, data: "ann" }],
    ["the bare object", { userId: "ann", maxLifetime: null, channels: null }],
    ["a bare JSON string", "ann"],
  ];
  test.each(understood)("%s", async (_name, answer) => {
    push.verify.answer = () => json(answer);
    expect(await statusOf()).toBe(101);
    expect(await push.online()).toEqual(["ann"]);
  });

  const integers: [string, () => Response][] = [
    ["in an object", () => json({ userId: 42 })],
    ["in the envelope", () => json({ code: 0, successful: true, data: 42 })],
    ["alone, as JSON", () => json(42)],
    ["alone, as text", () => new Response("42", { headers: { "content-type": "text/plain" } })],
  ];
  test.each(integers)("an integer user id becomes a string: %s", async (_name, answer) => {
    push.verify.answer = answer;
    expect(await statusOf()).toBe(101);
    expect(await push.online()).toEqual(["42"]);
  });
});

describe("temporary: true for a client that did not send temp=1", () => {
  const temporary = () => json({ userId: "ann", temporary: true, maxLifetime: 2 });

  test("opens a normal connection by default; the service was told what the client asked for", async () => {
    push.verify.answer = temporary;
    expect(await statusOf("?code=ann")).toBe(101);
    expect(await push.online()).toEqual(["ann"]);
    expect(await statusOf("?code=ann&temp=1")).toBe(101);
    expect(push.verify.requests.map(({ url }) => url.search)).toEqual(["?code=ann", "?code=ann&temp=1"]);
  });

  test("is refused with push.unasked-temporary: refuse, and with temp=1 it is not", async () => {
    const other = await startPushApp({ "push.unasked-temporary": "refuse" });
    other.verify.answer = temporary;
    expect(await statusOf("?code=ann", other)).toBe(401);
    expect(await other.metric("slipway_push_places_taken")).toBe(0);
    expect(await statusOf("?code=ann&temp=1", other)).toBe(101);
    expect(await other.online()).toEqual([]);
    other.verify.answer = () => json("ann");
    expect(await statusOf("?code=ann", other)).toBe(101);
    await other.stop();
  });
});

describe("said no: 401", () => {
  test.each([400, 401, 403, 404, 410, 422])("status %d", async (status) => {
    push.verify.answer = () => json({ userId: "ann" }, status);
    expect(await statusOf()).toBe(401);
  });

  test("successful:false, or a code that is not zero", async () => {
    push.verify.answer = () => json({ successful: false, data: "ann" });
    expect(await statusOf()).toBe(401);
    push.verify.answer = () => json({ code: 7, data: "ann" });
    expect(await statusOf()).toBe(401);
  });
});

describe("everything else is not understood: 503, and never a connection", () => {
  const lies: [string, () => Response][] = [
    ["HTML", () => new Response("<html></html>")],
    ["10 MB", () => new Response(`"${"x".repeat(10 * 1024 * 1024)}"`)],
    ["64 KiB and one byte", () => new Response(`"${"x".repeat(64 * 1024 - 1)}"`)],
    ["a redirect", () => Response.redirect("http://127.0.0.1:1/", 302)],
    ["an empty object", () => json({})],
    ["an empty body", () => new Response("")],
    ["null", () => json(null)],
    ["a fractional number", () => json(4.2)],
    ["a number that is not exact", () => new Response("90071992547409931")],
    ["a list", () => json(["ann"])],
    ["an empty userId", () => json({ userId: "" })],
    ["a fractional userId", () => json({ userId: 4.2 })],
    ["a userId of 300 bytes", () => json({ userId: "x".repeat(300) })],
    ["an envelope without data", () => json({ code: 0, successful: true })],
    ["a code that is text", () => json({ code: "0", data: "ann" })],
    ["channels that are no list", () => json({ userId: "ann", channels: "all" })],
    ["a negative lifetime", () => json({ userId: "ann", maxLifetime: -1 })],
    ["temporary that is no boolean", () => json({ userId: "ann", temporary: "yes" })],
    ...[301, 307, 408, 429, 500, 502, 503].map((status): [string, () => Response] => [
      `status ${status}`,
      () => json({ userId: "ann" }, status),
    ]),
  ];
  test.each(lies)("%s", async (_name, answer) => {
    push.verify.answer = answer;
    expect(await statusOf()).toBe(503);
    expect(await push.metric("slipway_push_places_taken")).toBe(0);
    expect(push.verify.requests.length).toBe(1);
  });

  test("slow: no response within 3 s", async () => {
    push.verify.answer = () => new Promise(() => {});
    const startedAt = performance.now();
    expect(await statusOf()).toBe(503);
    expect(performance.now() - startedAt).toBeGreaterThan(2500);
    expect(await push.metric("slipway_push_places_taken")).toBe(0);
  });

  test("a body that never ends is given up with the same limit of time", async () => {
    push.verify.answer = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('"an'));
          },
        }),
      );
    expect(await statusOf()).toBe(503);
  });

  test("down", async () => {
    await push.verify.stop();
    expect(await statusOf()).toBe(503);
  });
});

describe("the call", () => {
  test("{code} in the URI is replaced instead of appended", async () => {
    const other = await startPushApp({
      "push.verify-uri": push.verify.url.replace("/verify", "/v/{code}/x?a=1"),
    });
    push.verify.answer = () => json("ann");
    expect(await statusOf("?code=a%2Fb&temp=1", other)).toBe(101);
    expect(push.verify.requests[0]?.url.pathname).toBe("/v/a%2Fb/x");
    expect(push.verify.requests[0]?.url.search).toBe("?a=1&temp=1");
    await other.stop();
  });

  test("verify-method POST sends JSON {code,temp,ip,origin}", async () => {
    const other = await startPushApp({ "push.verify-uri": push.verify.url, "push.verify-method": "POST" });
    const socket = new RawSocket(other.port);
    await socket.upgrade("/ws?code=ann&temp=1", { Origin: "https://app.example.com" });
    expect(JSON.parse(push.verify.requests[0]?.body ?? "")).toEqual({
      code: "ann",
      temp: true,
      ip: "127.0.0.1",
      origin: "https://app.example.com",
    });
    socket.end();
    await other.stop();
  });

  test("verify-method POST says that temp=1 was not sent", async () => {
    const other = await startPushApp({ "push.verify-uri": push.verify.url, "push.verify-method": "POST" });
    expect(await statusOf("?code=ann", other)).toBe(101);
    expect(JSON.parse(push.verify.requests[0]?.body ?? "")).toMatchObject({ code: "ann", temp: false });
    await other.stop();
  });

  test("it is never sent twice, even if the connection breaks before a response", async () => {
    let requests = 0;
    const breaking = createServer((socket) =>
      socket.on("data", () => {
        requests++;
        socket.destroy();
      }),
    ).listen(0, "127.0.0.1");
    const address = breaking.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const other = await startPushApp({ "push.verify-uri": `http://127.0.0.1:${port}/verify` });
    for (let attempt = 1; attempt <= 5; attempt++) {
      expect(await statusOf("?code=single-use", other)).toBe(503);
      expect(requests).toBe(attempt);
    }
    await other.stop();
    breaking.close();
  });

  test("a client that goes away while its code is verified leaves no place behind", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    push.verify.answer = async () => {
      await promise;
      return json("ann");
    };
    const socket = connectTcp(push.port, "127.0.0.1");
    const head = Object.entries({ Host: "x", ...upgradeHeaders }).map(([name, value]) => `${name}: ${value}`);
    socket.write(`GET /ws?code=ann HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n`);
    await eventually("it is asked", () => push.verify.requests.length === 1);
    const closed = new Promise((done) => socket.on("close", done));
    socket.destroy();
    await closed;
    resolve();
    await eventually("the place is free", async () => (await push.metric("slipway_push_places_taken")) === 0);
    expect(await push.online()).toEqual([]);
  });
});
