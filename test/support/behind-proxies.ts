import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { type ApiClient, adminPassword } from "./api-server.ts";
import { type Certificate, makeCertificate } from "./certificate.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import {
  type ProxySetup,
  type ProxyWithLogs,
  startShippedCaddy,
  startShippedHaproxy,
  startShippedNginx,
} from "./reverse-proxies.ts";
import { serviceUrl } from "./services.ts";
import { StreamClient } from "./stream-client.ts";

/** A server that a proxy passes requests on to. */
export interface ServerBehind {
  /** host:port */
  upstream: string;
  admin: ApiClient;
  /** What it has logged, with the level `debug`. */
  log(): string;
  stop(): Promise<unknown>;
}

interface ShippedProxy {
  name: string;
  executable: string | undefined;
  start(setup: ProxySetup, certificate: Certificate): Promise<ProxyWithLogs>;
}

const proxies: ShippedProxy[] = [
  { name: "nginx", executable: await serviceUrl("nginx"), start: startShippedNginx },
  { name: "HAProxy", executable: await serviceUrl("haproxy"), start: startShippedHaproxy },
  { name: "Caddy", executable: await serviceUrl("caddy"), start: startShippedCaddy },
];

/** What holds for a server behind each proxy of deploy/ with TLS. The server believes proxies on this machine. */
export function describeBehindProxies(startServer: (baseUrl: string) => Promise<ServerBehind>): void {
  describe.each(proxies)("behind $name with the example of deploy/", ({ executable, start }) => {
    let server: ServerBehind;
    let proxy: ProxyWithLogs;
    let port: number;

    beforeAll(async () => {
      if (!executable) return;
      port = freePort();
      server = await startServer(`https://localhost:${port}`);
      proxy = await start({ executable, upstream: server.upstream, port }, await makeCertificate());
    });
    afterAll(async () => {
      await proxy?.stop();
      await server?.stop();
    });
    const proxied = executable ? test : test.skip;

    const ask = (path: string, init: RequestInit = {}) =>
      fetch(`https://localhost:${port}${path}`, { ...init, tls: { rejectUnauthorized: false } });
    const login = (headers: Record<string, string> = {}, body: object = {}) =>
      ask("/api/auth/login", {
        method: "POST",
        headers: { "content-type": "application/json", "x-slipway-csrf": "1", ...headers },
        body: JSON.stringify({ username: "admin", password: adminPassword, ...body }),
      });

    /** Sent as raw bytes, because a client would normalize the path. */
    async function statusOf(path: string, localAddress = "127.0.0.1"): Promise<number> {
      const bare = connect({ port, host: "127.0.0.1", localAddress });
      const socket = connectTls({ socket: bare, servername: "localhost", rejectUnauthorized: false });
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
      });
      socket.on("error", () => {});
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`);
      await eventually("an answer", () => text.includes("\r\n\r\n"));
      socket.destroy();
      return Number(text.slice(9, 12));
    }

    proxied("/feign and /metrics are not reached, however they are spelt", async () => {
      const paths = ["/feign/getOnlineUsers", "/feign/connections", "/feign", "/metrics", "/readyz"].flatMap(
        (path) => [
          path,
          `/${path}`,
          `///${path}`,
          `/.${path}`,
          `/x/..${path}`,
          `/x/%2e%2e${path}`,
          path.replace("/fe", "/%66e").replace("/me", "/%6De"),
          path.replace("feign", "FEIGN").replace("metrics", "Metrics"),
          path.replaceAll("/", "%2F"),
          `${path}?x=1`,
          `${path}/`,
          `${path};x`,
          `${path}%00`,
          `http://localhost${path}`,
        ],
      );
      for (const path of paths)
        expect([path, [400, 403, 404].includes(await statusOf(path))]).toEqual([path, true]);
    });

    proxied("the console, its documentation and the API are", async () => {
      expect((await ask("/", { headers: { accept: "text/html" } })).status).toBe(200);
      expect((await ask("/docs")).status).toBe(200);
      expect((await ask("/api/projects")).status).toBe(401);
      const hook = await ask("/api/hooks/git/unknown", { method: "POST", body: "{}" });
      expect([hook.status, await hook.json()]).toMatchObject([404, { code: "endpoint_not_found" }]);
    });

    proxied(
      "a sign-in sets a Secure cookie, which works for changes from the console's own address",
      async () => {
        const answer = await login({}, { cookie: true });
        const cookie = answer.headers.get("set-cookie") ?? "";
        expect([answer.status, cookie]).toEqual([
          200,
          expect.stringMatching(/HttpOnly; SameSite=Lax; .*; Secure$/),
        ]);
        const out = await ask("/api/auth/logout", {
          method: "POST",
          headers: {
            cookie: cookie.split(";")[0] ?? "",
            "x-slipway-csrf": "1",
            origin: `https://localhost:${port}`,
          },
        });
        expect(out.status).toBe(204);
      },
    );

    proxied("the address of a client is what the proxy saw, not what the client wrote", async () => {
      expect((await login({ "x-forwarded-for": "6.6.6.6", forwarded: "for=6.6.6.6" })).status).toBe(200);
      const { items } = await server.admin.expect<{ items: { remoteIp: string }[] }>(
        200,
        "GET",
        "/api/audit",
      );
      expect(["127.0.0.1", "::1"]).toContain(items[0]?.remoteIp ?? "");
      expect(await statusOf("/api/projects", "127.0.0.9")).toBe(401);
      await eventually("the client's address is logged", () =>
        server.log().includes('"clientAddress":"127.0.0.9"'),
      );
    });

    proxied("bodies as large as the API takes pass, larger ones are refused", async () => {
      const body = (length: number) => ({ method: "POST", body: "x".repeat(length) });
      const headers = { "content-type": "application/json" };
      expect((await ask("/api/auth/login", { ...body(16_000), headers })).status).toBe(400);
      const hook = await ask("/api/hooks/git/unknown", { ...body(1024 * 1024), headers });
      expect(hook.status).toBe(404);
      expect((await ask("/api/auth/login", { ...body(4 * 1024 * 1024), headers })).status).toBe(413);
    });

    proxied("a WebSocket is opened and hears what is published", async () => {
      const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
        userId: "ann",
      });
      const socket = new WebSocket(`wss://localhost:${port}/ws?code=${code}`, {
        tls: { rejectUnauthorized: false },
      } as never);
      const heard: unknown[] = [];
      socket.onmessage = ({ data }) => heard.push(data);
      await eventually("the socket is open", () => socket.readyState === WebSocket.OPEN);
      await server.admin.expect(200, "POST", "/api/push/publish", {
        targetType: "user",
        target: "ann",
        data: "hello",
      });
      await eventually("the message arrives", () => heard.includes("hello"));
      socket.close();
    });

    proxied("an event stream hears what is published as it happens, and takes frames", async () => {
      const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
        userId: "ann",
      });
      const client = await StreamClient.open(`https://localhost:${port}/sse?code=${code}`);
      await client.receivedType("welcome");
      expect((await client.post('{"type":"join","channel":"news"}')).status).toBe(200);
      await client.receivedType("joined");
      const message = { targetType: "channel", target: "news", data: "hello" };
      await server.admin.expect(200, "POST", "/api/push/publish", message);
      await client.receivedType("message");
      client.close();
    });

    proxied("no log of the proxy has a code, also when Slipway cannot be reached", async () => {
      expect((await ask("/ws?code=secret-1")).status).toBe(426);
      await server.stop();
      for (const path of ["/ws", "/sse"])
        expect((await ask(`${path}?channel=news&code=secret-2&stream=secret-3`)).status).toBeOneOf([
          502, 503,
        ]);
      await eventually("the failure is logged", async () => (await proxy.logs()).includes("/sse"));
      expect(await proxy.logs()).not.toContain("secret-");
    });
  });
}
