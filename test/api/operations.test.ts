import { describe, expect, test } from "bun:test";
import pino from "pino";
import { listenOn } from "../../src/http/server.ts";
import { startApiServer } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { rawRequest } from "../support/raw-http.ts";
import { RawSocket } from "../support/raw-socket.ts";

const server = await setUpApi();

describe("operators", () => {
  test("see liveness and readiness without a credential", async () => {
    expect(await server.anonymous.request("GET", "/livez")).toMatchObject({ status: 200, text: "ok\n" });
    expect(await server.anonymous.request("GET", "/readyz")).toMatchObject({ status: 200, text: "ready\n" });
  });

  test("read metrics from internal networks only, while no token is set", async () => {
    await server.admin.expect(200, "GET", "/api/projects");
    const metrics = await server.anonymous.request("GET", "/metrics");
    expect(metrics.status).toBe(200);
    expect(metrics.text).toContain(
      'slipway_api_requests_total{method="GET",route="/api/projects",status="200"}',
    );
    expect(metrics.text).toContain("slipway_api_request_seconds_bucket");
    const proxied = await server.anonymous.request("GET", "/metrics", undefined, {
      "x-forwarded-for": "1.2.3.4",
    });
    expect(proxied.status).toBe(403);
  });

  test("see in the metrics when passwords are being guessed", async () => {
    for (const _ of [1, 2])
      await server.anonymous.request("POST", "/api/auth/login", { username: "x", password: "y" });
    const { text } = await server.anonymous.request("GET", "/metrics");
    expect(text).toContain('slipway_password_checks_total{result="wrong"} 2');
    expect(text).toContain('slipway_password_checks_total{result="right"} 1');
  });

  test("read metrics with metrics.token from anywhere, once it is set", async () => {
    const guarded = await startApiServer({ "metrics.token": "open-sesame" });
    expect((await guarded.anonymous.request("GET", "/metrics")).status).toBe(401);
    expect((await guarded.as("wrong").request("GET", "/metrics")).status).toBe(401);
    expect((await guarded.as("open-sesame").request("GET", "/metrics")).status).toBe(200);
    await guarded.stop();
  });
});

test("metrics contain routes, not paths: unknown callers cannot make them grow", async () => {
  const paths = [
    "/api/made-up/1",
    "/api/made-up/2",
    "/api/projects/7",
    "/api/projects/8",
    "/api/users/9/made-up",
  ];
  for (const path of paths) await server.admin.request("GET", path);
  await server.anonymous.request("POST", "/api/made-up/3", "{");
  const { text } = await server.anonymous.request("GET", "/metrics");
  const routes = new Set(
    [...text.matchAll(/slipway_api_requests_total\{.*route="([^"]*)"/g)].map(([, route]) => route),
  );
  expect([...routes].filter((route) => /\d|made-up/.test(route ?? ""))).toEqual([]);
  expect(routes).toContain("/api/projects/:id");
});

describe("every answer", () => {
  test("carries a request id: a valid one of the proxy, otherwise our own", async () => {
    const own = await server.anonymous.request("GET", "/api/auth/me");
    expect(own.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    const given = await server.anonymous.request("GET", "/api/nothing", undefined, {
      "x-request-id": "proxy-12345678",
    });
    expect(given.headers.get("x-request-id")).toBe("proxy-12345678");
    const bad = await server.anonymous.request("GET", "/docs", undefined, { "x-request-id": "a b" });
    expect(bad.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("of an unknown path is the error shape", async () => {
    const answer = await server.anonymous.request("GET", "/api/nothing");
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual({
      error: {
        code: "not_found",
        message: expect.stringContaining("/docs"),
        messageParts: [{ code: "no_endpoint", values: { method: "GET", path: expect.any(String) } }],
      },
    });
  });

  test("of a body over the limit is 413, in the error shape", async () => {
    const answer = await server.anonymous.request("POST", "/api/auth/login", {
      username: "x".repeat(3_000_000),
    });
    expect(answer.body).toMatchObject({ error: { code: "too_large" } });
    expect(answer.status).toBe(413);
    expect(answer.headers.get("x-request-id")).toBeTruthy();
  });

  test("of a body nested without end is 400, at once", async () => {
    const deep = `{"payload":{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}}`;
    const project = { name: "deep", git: { url: "https://git.example.com/deep.git" } };
    const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", project);
    const answer = await server.admin.request("POST", `/api/projects/${id}/webhook/test`, deep);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("nested deeper");
    const quoted = { username: `${"[".repeat(200)}"\\${"{".repeat(200)}`, password: "x" };
    expect((await server.anonymous.request("POST", "/api/auth/login", quoted)).status).toBe(422);
  });

  test("of a webhook test with a header that HTTP does not allow is 422", async () => {
    const project = { name: "headers", git: { url: "https://git.example.com/headers.git" } };
    const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", project);
    for (const value of ["push\nx", "推送"]) {
      const body = { payload: {}, headers: { "X-GitHub-Event": value } };
      const answer = await server.admin.request("POST", `/api/projects/${id}/webhook/test`, body);
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining("the value of a header")]);
    }
  });

  test("is logged with its path but never with its query", async () => {
    await server.anonymous.request("GET", "/api/auth/me?code=tell-nobody");
    const lines = server.logLines.map((line) => JSON.parse(line) as { path?: string });
    expect(lines).toContainEqual(expect.objectContaining({ path: "/api/auth/me", status: 401 }));
    expect(server.logLines.join("")).not.toContain("tell-nobody");
  });
});

test("a sender that disconnects within its body causes no server error", async () => {
  const head =
    "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n";
  for (const path of [head, head.replace("Content-Length: 50", "Transfer-Encoding: chunked")]) {
    const socket = new RawSocket(server.app.port);
    socket.write(`${path}2d\r\n{"username":`);
    await Bun.sleep(50); // The server reads the beginning before the end; nothing shows that it has.
    socket.end();
    await socket.ended();
  }
  await server.anonymous.request("GET", "/readyz");
  expect(server.logLines.filter((line) => line.includes('"request failed"'))).toEqual([]);
});

describe("the documentation", () => {
  test("names every endpoint, needs no script and loads nothing", async () => {
    const page = await server.anonymous.request("GET", "/docs");
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(page.text).not.toMatch(/<script|<link|src=|@import|url\(/);
    const document = await server.anonymous.expect<{ paths: Record<string, object> }>(
      200,
      "GET",
      "/api/openapi.json",
    );
    for (const path of Object.keys(document.paths)) expect(page.text).toContain(`>${path}<`);
  });

  test("names every operation once and resolves every reference", async () => {
    const { text, body } = await server.anonymous.request("GET", "/api/openapi.json");
    const { components } = body as { components: { schemas: Record<string, unknown> } };
    const operations = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, name]) => name);
    expect(new Set(operations).size).toBe(operations.length);
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name ?? "",
    );
    expect(references.filter((name) => !(name in components.schemas))).toEqual([]);
  });

  test("has a tag, a summary and described answers for every endpoint", async () => {
    type Operation = {
      tags?: string[];
      summary?: string;
      "x-access"?: string;
      responses: Record<string, unknown>;
    };
    const { paths } = await server.anonymous.expect<{ paths: Record<string, Record<string, Operation>> }>(
      200,
      "GET",
      "/api/openapi.json",
    );
    const faulty = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, operation]) => !operation.tags?.length || !operation.summary || !operation["x-access"])
        .map(([method]) => `${method} ${path}`),
    );
    expect(faulty).toEqual([]);
  });
});

describe("internals are not visible from outside", () => {
  test("by a request without a valid Host header: it is answered like any other", async () => {
    const both = await startApiServer({ "push.drain-delay": 0, "push.drain-period": 0 }, undefined, "start");
    const pages = {
      "/": 200,
      "/projects": 200,
      "/nothing.txt": 404,
      "/assets/nothing.js": 404,
      "/docs": 200,
      "/manual/": 200,
      "/api/openapi.json": 200,
      "/api/auth/me": 401,
      "/livez": 200,
    };
    // Callers without a key must use a host name of this server, if they send one.
    const hosts = [
      { host: "", feign: 200 },
      { host: "host: two words\r\n", feign: 403 },
    ];
    for (const { host, feign } of hosts) {
      const expected = {
        ...pages,
        "/feign/getOnlineUsers?scope=cluster": feign,
        "/feign/connections": feign,
      };
      const statuses: Record<string, number> = {};
      for (const path of Object.keys(expected)) {
        const accept = path.includes(".") ? "*/*" : "text/html";
        const request = `GET ${path} HTTP/1.0\r\n${host}accept: ${accept}\r\n\r\n`;
        statuses[path] = (await rawRequest(both.url, [request])).status;
      }
      expect(statuses).toEqual(expected);
      const body = '{"username":"x","password":"y"}';
      const head = `POST /api/auth/login HTTP/1.0\r\n${host}content-type: application/json\r\n`;
      const login = await rawRequest(both.url, [`${head}content-length: ${body.length}\r\n\r\n${body}`]);
      expect(login).toMatchObject({ status: 401, body: expect.stringContaining("is wrong") });
      const upgrade = `GET /ws?code=x HTTP/1.1\r\n${host || "host:\r\n"}upgrade: websocket\r\nconnection: upgrade\r\n`;
      const key = "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
      expect((await rawRequest(both.url, [upgrade + key])).status).toBe(401);
    }
    await both.stop();
  });

  test("by a bug: the response is the general one, and the log contains the details", async () => {
    const lines: string[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(line) });
    const broken = () => {
      throw new Error("the inside");
    };
    const one = listenOn({ host: "127.0.0.1", port: 0 }, { routes: { "/sync": broken }, fetch: broken, log });
    for (const path of ["sync", "nothing"]) {
      const answer = await fetch(new URL(path, one.url), { headers: { accept: "text/html" } });
      expect([answer.status, answer.headers.get("content-type")]).toEqual([
        500,
        expect.stringContaining("json"),
      ]);
      expect(await answer.text()).not.toContain("the inside");
    }
    expect(lines.filter((line) => line.includes("the inside"))).toHaveLength(2);
    await one.stop(true);
  });
});
