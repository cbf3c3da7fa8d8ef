import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { eventually } from "../support/eventually.ts";
import { makeHook } from "../support/hook.ts";
import { startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const dataDir = temporaryFolder("bodies");
const server = await startServerProcess(dataDir, { "runner-enabled": "false" });
afterAll(() => server.end("SIGTERM"));

const residentMB = () => {
  const kB = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1];
  return Number(kB) / 1024;
};

interface Stalled {
  /** The body of the answer. */
  body(): string;
  status(): number;
  isClosed(): boolean;
  end(): void;
}

/** A request whose last byte is never sent. */
function stall(method: string, path: string, length: number, headers: Record<string, string> = {}): Stalled {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let text = "";
  let isClosed = false;
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    isClosed = true;
  });
  const lines = Object.entries({
    Host: "127.0.0.1",
    "Content-Type": "application/json",
    "Content-Length": String(length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  socket.write(Buffer.alloc(length - 1, " "));
  return {
    body: () => text.split("\r\n\r\n")[1] ?? "",
    status: () => Number(text.slice(9, 12) || 0),
    isClosed: () => isClosed,
    end: () => socket.destroy(),
  };
}

const twoMiB = 2 * 1024 * 1024;

describe("the body of an unauthorized request", () => {
  const targets = [
    ["POST", "/api/projects", 401],
    ["PATCH", "/api/projects/1", 401],
    ["PUT", "/api/projects/1/webhook", 401],
    ["POST", "/api/projects/1/webhook/test", 401],
    ["DELETE", "/api/projects/1", 401],
    ["POST", "/api/there-is-no-such", 404],
    ["POST", "/api/runner/claim", 401],
    ["POST", "/api/auth/login", 408],
    ["POST", "/api/push/verify", 408],
  ] as const;

  test("is not stored: 150 anonymous connections with 2 MiB each take little memory", async () => {
    const before = residentMB();
    const requests = Array.from({ length: 150 }, (_, index) => {
      const [method, path, expected] = targets[index % targets.length] ?? targets[0];
      return { ...stall(method, path, twoMiB), path, expected };
    });
    await eventually("each is answered", () => requests.every(({ status }) => status() !== 0)).catch(
      () => {},
    );
    const grownMB = residentMB() - before;
    for (const { path, expected, status } of requests) expect([path, status()]).toEqual([path, expected]);
    for (const { end } of requests) end();
    expect(grownMB).toBeLessThan(100);
  });

  test.concurrent("is not read with an invalid token, or from a user without the permission", async () => {
    const bad = stall("POST", "/api/projects", twoMiB, { Authorization: "Bearer sls_made-up" });
    await eventually("the bad token is refused", () => bad.status() === 401);
    bad.end();
    await server.admin.expect(201, "POST", "/api/users", { username: "ann", password: "a long password" });
    const { token } = await server.admin.expect<{ token: string }>(200, "POST", "/api/auth/login", {
      username: "ann",
      password: "a long password",
    });
    for (const path of ["/api/users", "/api/runners"]) {
      const forbidden = stall("POST", path, twoMiB, { Authorization: `Bearer ${token}` });
      await eventually(`${path} is refused`, () => forbidden.status() === 403);
      forbidden.end();
    }
  });
});

test.concurrent("a body that is incomplete after the timeout ends with 408 and the connection, sooner for anonymous callers", async () => {
  const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
    name: "slow",
    scopes: ["admin"],
  });
  const { url } = await makeHook(server, { secret: "right" });
  const hook = new URL(await url()).pathname;
  const startedAt = performance.now();
  const anonymous = ["/api/auth/login", "/api/push/verify"].map((path) => stall("POST", path, 1000));
  const signedIn = stall("POST", "/api/projects", twoMiB, { Authorization: `Bearer ${token}` });
  const publish = stall("POST", "/feign/publish", 1000, { "Content-Type": "application/json" });
  const delivery = stall("POST", hook, 1000);
  await eventually("strangers are given up", () => anonymous.every(({ isClosed }) => isClosed()));
  const strangersMs = performance.now() - startedAt;
  expect(anonymous.map(({ status }) => status())).toEqual([408, 408]);
  expect(signedIn.isClosed()).toBe(false);
  await eventually("the signed-in caller is given up", () => signedIn.isClosed());
  await eventually("so are a publish and a delivery", () => publish.isClosed() && delivery.isClosed());
  expect([signedIn, publish, delivery].map(({ status }) => status())).toEqual([408, 408, 400]);
  expect(strangersMs).toBeLessThan(25_000);
  expect(performance.now() - startedAt).toBeLessThan(60_000);
});

test.concurrent("a body of /feign that is incomplete after the timeout is answered with the failure envelope", async () => {
  const startedAt = performance.now();
  const orders = ["publish", "disconnect", "channels/join", "channels/leave", "channels/grant"];
  const stalled = orders.flatMap((order) => [
    stall("POST", `/feign/${order}`, 1000),
    stall("POST", `/feign/${order}`, 1000, { "Content-Length": "70000" }),
  ]);
  const chunked = connect(Number(new URL(server.url).port), "127.0.0.1");
  let answer = "";
  chunked.on("error", () => {});
  chunked.on("data", (chunk) => {
    answer += chunk.toString("latin1");
  });
  chunked.write(
    "POST /feign/publish HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
  );
  // Other requests are served at the usual speed meanwhile.
  const published = await fetch(`${server.url}/feign/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ targetType: "all", data: "x" }),
  });
  expect(published.status).toBe(200);
  await eventually("all are given up", () => stalled.every(({ isClosed }) => isClosed()));
  await eventually("the chunked one too", () => answer !== "");
  expect(performance.now() - startedAt).toBeGreaterThan(25_000);
  const envelope = {
    code: 40801,
    successful: false,
    message: expect.stringContaining("did not arrive whole within 30 s"),
  };
  for (const { status, body } of stalled) {
    expect(status()).toBe(408);
    expect(JSON.parse(body())).toEqual(envelope);
  }
  expect(answer).toStartWith("HTTP/1.1 408");
  chunked.destroy();
});

/** A request of a new token whose body is sent byte by byte; `between` runs in its middle. */
async function trickle(path: string, given: object, between: (tokenId: number) => Promise<unknown>) {
  const { id, token } = await server.admin.expect<{ id: number; token: string }>(201, "POST", "/api/tokens", {
    name: "steady",
    scopes: ["admin"],
  });
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  const body = JSON.stringify(given);
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n`,
  );
  for (const [index, byte] of [...body].entries()) {
    socket.write(byte);
    // Each byte is a packet of its own.
    await Bun.sleep(5);
    if (index === Math.floor(body.length / 2)) await between(id);
  }
  await eventually("it is answered", () => text.includes("\r\n\r\n"));
  socket.destroy();
  return text;
}

test("a body within the limits is still read, also if it arrives slowly", async () => {
  const project = { name: "trickle", git: { url: "https://git.example.com/a.git" } };
  expect(await trickle("/api/projects", project, async () => {})).toStartWith("HTTP/1.1 201");
});

test.each([
  ["/api/users", { username: "thief", password: "a good long sentence", role: "admin" }],
  ["/api/push/codes", { for: "console" }],
])("a token that is revoked while the body arrives gets nothing from %s", async (path, body) => {
  const revoke = (id: number) => server.admin.expect(204, "DELETE", `/api/tokens/${id}`);
  expect(await trickle(path, body, revoke)).toStartWith("HTTP/1.1 401");
  const { items } = await server.admin.expect<{ items: { username: string }[] }>(200, "GET", "/api/users");
  expect(items.map(({ username }) => username)).not.toContain("thief");
});

/** A stranger who sends a byte every five seconds. Without a host, the request has none in its head. */
function drip(method: string, path: string, { isChunked = false, hasHost = true } = {}) {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const stranger = { name: `${method} ${path}`, isClosed: false, text: "", end: () => socket.destroy() };
  const piece = isChunked ? "1\r\n \r\n" : " ";
  const timer = setInterval(() => socket.write(piece), 5000);
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    stranger.text += chunk.toString("latin1");
  });
  socket.on("close", () => {
    stranger.isClosed = true;
    clearInterval(timer);
  });
  const length = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${twoMiB}`;
  const version = hasHost ? "1.1\r\nHost: 127.0.0.1" : "1.0";
  socket.write(
    `${method} ${path} HTTP/${version}\r\nContent-Type: application/json\r\n${length}\r\n\r\n${piece}`,
  );
  return stranger;
}

test.concurrent("100 strangers who send 2 MiB byte by byte are answered and disconnected within 40 s, wherever they call", async () => {
  const calls = ["GET", "POST", "PATCH", "PUT", "DELETE"].flatMap((method) =>
    [
      ...["/api/projects", "/api/projects/1", "/api/auth/login", "/api/push/verify", "/api/no-such"],
      ...["/api/runner/claim", "/api/hooks/git/none", "/feign/none", "/livez", "/none"],
    ].map((path) => [method, path] as const),
  );
  const strangers = calls.flatMap(([method, path]) => [
    drip(method, path),
    drip(method, path, { isChunked: true }),
  ]);
  const hostless = drip("POST", "/api/projects", { hasHost: false });
  await eventually("all are disconnected", () => strangers.every(({ isClosed }) => isClosed), 40_000).catch(
    () => {},
  );
  const open = [...strangers, hostless].filter(({ isClosed }) => !isClosed).map(({ name }) => name);
  for (const { end } of [...strangers, hostless]) end();
  expect(strangers).toHaveLength(100);
  expect(open).toEqual([]);
  for (const { name, text } of strangers)
    expect([name, text]).toEqual([name, expect.stringMatching(/^HTTP\/1\.1 \d{3}/)]);
});

test("a sender whose unread body arrives within the time gets the answer, and keeps its connection", async () => {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  const head = `POST /api/projects HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${twoMiB}\r\n\r\n`;
  socket.write(head);
  for (let part = 0; part < 4; part++) {
    // A slow sender: the parts arrive after the answer was decided.
    await Bun.sleep(200);
    socket.write(Buffer.alloc(twoMiB / 4, " "));
  }
  await eventually("it is answered", () => text.startsWith("HTTP/1.1 401"));
  socket.write("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
  await eventually("the connection is used again", () => text.includes("HTTP/1.1 200"));
  socket.destroy();
});
