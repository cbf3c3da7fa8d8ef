import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { systemClock } from "../../src/clock.ts";
import { type ApiServer, startApiServer } from "../support/api-server.ts";
import { describeBehindProxies } from "../support/behind-proxies.ts";
import { freePort } from "../support/free-port.ts";
import { startPlainNginx } from "../support/reverse-proxies.ts";
import type { RunningService } from "../support/service-process.ts";
import { serviceUrl } from "../support/services.ts";

const nginx = await serviceUrl("nginx");

const startServer = (baseUrl: string, trustedProxies: string[] = []) =>
  startApiServer(
    {
      "server.baseUrl": baseUrl,
      "server.trustedProxies": trustedProxies,
      "push.drain-delay": 0,
      "push.drain-period": 0,
    },
    systemClock,
    "start",
  );
const upstreamOf = (server: ApiServer) => `127.0.0.1:${server.app.port}`;

describeBehindProxies(async (baseUrl) => {
  const server = await startServer(baseUrl, ["127.0.0.1/32"]);
  const { admin } = server;
  return {
    upstream: upstreamOf(server),
    admin,
    log: () => server.logLines.join("\n"),
    stop: () => server.stop(),
  };
});

describe.skipIf(!nginx)(
  "behind nginx with a bare proxy_pass, which adds no header and calls from loopback",
  () => {
    let server: ApiServer;
    let proxy: RunningService;
    let port: number;

    beforeAll(async () => {
      port = freePort();
      server = await startServer("http://deploy.example.com");
      proxy = await startPlainNginx({ executable: nginx ?? "", upstream: upstreamOf(server), port });
    });
    afterAll(async () => {
      await proxy?.stop();
      await server?.stop();
    });

    test("nobody publishes, reads who is online, or reads metrics", async () => {
      const at = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init);
      const published = await at("/feign/publish", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ targetType: "all", target: "", data: "from a stranger" }),
      });
      expect([published.status, await published.json()]).toMatchObject([403, { code: 40302 }]);
      for (const path of ["/feign/getOnlineUsers", "/feign/client-messages", "/metrics"])
        expect([path, (await at(path)).status]).toEqual([path, 403]);
      expect((await at("/docs")).status).toBe(200);
    });
  },
);
