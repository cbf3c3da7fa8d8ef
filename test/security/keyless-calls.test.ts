import { afterEach, describe, expect, test } from "bun:test";
import { systemClock } from "../../src/clock.ts";
import type { Config } from "../../src/config/config.ts";
import { type ApiServer, adminPassword, startApiServer } from "../support/api-server.ts";
import { rawRequest } from "../support/raw-http.ts";

/** Endpoints that serve some callers without a key. */
const endpoints = [
  { method: "GET", path: "/feign/getOnlineUsers", served: 200 },
  { method: "GET", path: "/feign/connections", served: 200 },
  { method: "POST", path: "/feign/publish", served: 200 },
  { method: "GET", path: "/feign/there-is-no-such", served: 404 },
  { method: "GET", path: "/metrics", served: 200 },
];

let server: ApiServer;
afterEach(() => server.stop());

async function start(settings: Partial<Config> = {}): Promise<void> {
  server = await startApiServer(
    { "push.drain-delay": 0, "push.drain-period": 0, ...settings },
    systemClock,
    "start",
  );
}

const message = JSON.stringify({ targetType: "all", target: "", data: "hello" });

/** Sent as raw bytes, because clients do not let a test choose Host. An undefined Host is left out. */
async function call(
  endpoint: (typeof endpoints)[number],
  host: string | undefined,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const body = endpoint.method === "POST" ? message : "";
  const sent = {
    ...(host === undefined ? {} : { Host: host }),
    ...(body ? { "Content-Type": "application/json" } : {}),
    "Content-Length": String(body.length),
    Connection: "close",
    ...headers,
  };
  const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
  const version = host === undefined ? "1.0" : "1.1";
  const answer = await rawRequest(server.url, [
    `${endpoint.method} ${endpoint.path} HTTP/${version}\r\n${lines.join("")}\r\n${body}`,
  ]);
  return { status: answer.status, text: answer.body };
}

const statuses = async (host: string | undefined, headers: Record<string, string> = {}) =>
  Promise.all(endpoints.map(async (endpoint) => (await call(endpoint, host, headers)).status));
const allServed = endpoints.map(({ served }) => served);
const allRefused = endpoints.map(() => 403);

describe("on plain loopback, without keys", () => {
  test("a program is served at any address of this server, at localhost, and without a Host", async () => {
    await start();
    const { port } = server.app;
    for (const host of [
      `127.0.0.1:${port}`,
      "127.0.0.1",
      `localhost:${port}`,
      "LocalHost",
      "localhost.",
      "[::1]:80",
      "192.0.2.7",
    ])
      expect([host, await statuses(host)]).toEqual([host, allServed]);
    expect(await statuses(undefined)).toEqual(allServed);
  });

  test("a DNS rebinding page is refused, with the setting that would admit it", async () => {
    await start();
    const { port } = server.app;
    const foreign = [
      `evil.example:${port}`,
      "evil.example",
      "localhost.evil.example",
      "127.0.0.1.evil.example",
      "127.0.0.1.nip.io",
      "127.evil.example",
      "evil.localhost",
      "localhost:80:evil.example",
      "localhost, evil.example",
      "user@localhost",
      "127.1",
      "0x7f000001",
      "2130706433",
      "[evil.example]",
    ];
    for (const host of foreign) expect([host, await statuses(host)]).toEqual([host, allRefused]);
    for (const endpoint of endpoints)
      expect((await call(endpoint, "evil.example")).text).toMatch(
        /evil\.example.*server\.hosts.*(push\.api-keys|metrics\.token)/,
      );
  });

  test("a request of any web page is refused, also of our own origin", async () => {
    await start();
    const host = `127.0.0.1:${server.app.port}`;
    for (const origin of ["https://evil.example", "null", server.url])
      expect([origin, await statuses(host, { Origin: origin })]).toEqual([origin, allRefused]);
    for (const site of ["cross-site", "same-site"])
      expect(await statuses(host, { "Sec-Fetch-Site": site })).toEqual(allRefused);
    // A person who opens /metrics in a browser.
    expect(await statuses(host, { "Sec-Fetch-Site": "none" })).toEqual(allServed);
    for (const endpoint of endpoints)
      expect((await call(endpoint, host, { Origin: "https://evil.example" })).text).toMatch(
        /Origin.*(push\.api-keys|metrics\.token)/,
      );
  });

  test("a request that shows that it passed a proxy is refused", async () => {
    await start();
    for (const name of [
      "Forwarded",
      "Via",
      "X-Real-IP",
      "X-Forwarded-For",
      "X-Forwarded-Proto",
      "CF-Connecting-IP",
      "True-Client-IP",
    ])
      expect([name, await statuses("127.0.0.1", { [name]: "127.0.0.1" })]).toEqual([name, allRefused]);
  });

  test("server.hosts names further names, in any case and with any port", async () => {
    await start({ "server.hosts": ["slipway.internal"] });
    for (const host of ["slipway.internal", "SLIPWAY.internal:8080"])
      expect(await statuses(host)).toEqual(allServed);
    for (const host of ["internal", "x.slipway.internal", "slipway.internal.evil.example"])
      expect(await statuses(host)).toEqual(allRefused);
  });

  test("a base URL on loopback changes nothing, and its host is one of this server", async () => {
    await start({ "server.baseUrl": "http://dev.localhost:8080" });
    expect(await statuses("dev.localhost:8080")).toEqual(allServed);
    expect(await statuses("127.0.0.1")).toEqual(allServed);
  });
});

describe("with a public base URL", () => {
  const baseUrl = "https://deploy.example.com";

  test("no caller is served without a key, and the refusal names both settings that would admit it", async () => {
    await start({ "server.baseUrl": baseUrl });
    for (const host of ["127.0.0.1", "localhost", "deploy.example.com", undefined])
      expect(await statuses(host)).toEqual(allRefused);
    for (const endpoint of endpoints)
      expect((await call(endpoint, "127.0.0.1")).text).toMatch(
        /server\.baseUrl.*(push\.api-keys|metrics\.token).*push\.internal-networks: .*127\.0\.0\.0\/8/,
      );
  });

  test("names that only look like loopback are public", async () => {
    await start({ "server.baseUrl": "http://127.0.0.1.nip.io" });
    expect(await statuses("127.0.0.1")).toEqual(allRefused);
  });

  test("push.internal-networks opens them again, for names of this server alone", async () => {
    await start({ "server.baseUrl": baseUrl, "push.internal-networks": ["127.0.0.0/8", "::1/128"] });
    for (const host of ["127.0.0.1", "localhost", "deploy.example.com"])
      expect(await statuses(host)).toEqual(allServed);
    expect(await statuses("evil.example")).toEqual(allRefused);
  });

  test("a key or a token is enough, under any host name and from any page", async () => {
    await start({ "server.baseUrl": baseUrl, "push.api-keys": ["the key"], "metrics.token": "the-token" });
    const authorized = {
      Origin: "https://shop.example",
      "X-API-Key": "the key",
      "X-Forwarded-For": "192.0.2.1",
    };
    for (const endpoint of endpoints.filter(({ path }) => path !== "/metrics"))
      expect((await call(endpoint, "deploy.example.com", authorized)).status).toBe(endpoint.served);
    const metrics = endpoints.at(-1) as (typeof endpoints)[number];
    expect((await call(metrics, "any.example", { Authorization: "Bearer the-token" })).status).toBe(200);
    expect(await statuses("127.0.0.1")).toEqual(endpoints.map(() => 401));
  });
});

describe("a start lists the open endpoints", () => {
  const told = () => server.app.facts.filter((fact) => /^(open|closed)/.test(fact));

  test("on plain loopback", async () => {
    await start();
    expect(told()).toEqual([
      expect.stringMatching(/^open to everyone: console, .*\/api\/hooks\/git.*\/ws.*\/readyz$/),
      "open without a key to 127.0.0.0/8, ::1/128: /feign/*, /metrics",
    ]);
  });

  test("with a public base URL, also that it has no trusted proxy", async () => {
    await start({ "server.baseUrl": "https://deploy.example.com" });
    expect(told().at(-1)).toMatch(/^closed: \/feign\/\*, \/metrics/);
    const warning = expect.stringMatching(/server\.trustedProxies is empty.*sign-ins.*127\.0\.0\.1\/32/);
    expect(server.app.warnings).toContainEqual(warning);
    await server.stop();
    await start({
      "server.baseUrl": "https://deploy.example.com",
      "server.trustedProxies": ["127.0.0.1/32"],
    });
    expect(server.app.warnings).not.toContainEqual(warning);
  });

  test("with keys", async () => {
    await start({ "push.api-keys": ["k"], "metrics.token": "t" });
    expect(told().slice(1)).toEqual([
      "open with a key of push.api-keys: /feign/*",
      "open with metrics.token: /metrics",
    ]);
  });
});

describe("the console's cookie", () => {
  const cookieOf = async (headers: Record<string, string> = {}) => {
    const body = { username: "admin", password: adminPassword, cookie: true };
    const answer = await server.anonymous.request("POST", "/api/auth/login", body, {
      "x-slipway-csrf": "1",
      ...headers,
    });
    expect(answer.status).toBe(200);
    return answer.headers.get("set-cookie") ?? "";
  };

  test("is Secure with an https base URL, also if the proxy does not forward the scheme", async () => {
    await start({ "server.baseUrl": "https://deploy.example.com" });
    expect(await cookieOf()).toMatch(/; Secure$/);
    const [, name, token] = /^([^=]+)=([^;]+); Path=\/; /.exec(await cookieOf()) ?? [];
    expect(name).toBe("__Host-slipway_session");
    for (const held of ["__Host-slipway_session", "slipway_session"]) {
      const me = await server.anonymous.request("GET", "/api/auth/me", undefined, {
        cookie: `${held}=${token}`,
      });
      expect(me.status).toBe(200);
    }
    const out = await server.anonymous.request("POST", "/api/auth/logout", undefined, {
      cookie: `__Host-slipway_session=${token}; slipway_session=of version 1.0`,
      "x-slipway-csrf": "1",
    });
    expect([out.status, out.headers.getSetCookie()]).toEqual([
      204,
      [
        expect.stringMatching(/^__Host-slipway_session=; .*; Secure$/),
        expect.stringMatching(/^slipway_session=; .*; Secure$/),
      ],
    ]);
  });

  test("is not on plain http; a trusted proxy may say https", async () => {
    await start({ "server.trustedProxies": ["127.0.0.1/32"] });
    expect(await cookieOf()).not.toContain("Secure");
    expect(await cookieOf({ "x-forwarded-proto": "https" })).toMatch(/; Secure$/);
  });

  test("is never Secure with auth.secureCookie: never", async () => {
    await start({ "server.baseUrl": "https://deploy.example.com", "auth.secureCookie": "never" });
    expect(await cookieOf()).not.toContain("Secure");
  });
});
