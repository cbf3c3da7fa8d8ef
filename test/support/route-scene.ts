import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import type { Route } from "../../src/model/service/route.ts";
import type { WireService } from "../../src/runner/protocol.ts";
import type { ProxySettings } from "../../src/runner/route/routes.ts";
import { freePort } from "./free-port.ts";
import { openServiceScene, type ServiceKind } from "./keeper-scene.ts";
import { noProxy } from "./test-runner.ts";

/** A web server that says which release it is. `/slow` takes a while, `/crash` ends it, `/ws` is a WebSocket. */
export const webServer = `const { PORT, ANSWER } = process.env;
const served = Bun.serve({
  port: Number(PORT),
  hostname: "127.0.0.1",
  idleTimeout: 5,
  async fetch(request, server) {
    const { pathname } = new URL(request.url);
    if (pathname === "/ws") return server.upgrade(request) ? undefined : new Response("", { status: 400 });
    if (pathname === "/crash") process.kill(process.pid, "SIGKILL");
    // Longer than a switch takes.
    if (pathname === "/slow") await Bun.sleep(1500);
    const body = await request.text();
    return new Response(\`\${ANSWER} \${request.method} \${body.length}\`);
  },
  websocket: { message: (socket, text) => void socket.send(ANSWER + " " + text) },
});
process.on("SIGTERM", () => void served.stop().then(() => process.exit(0)));
console.log("listening");`;

const check = { http: "/", tcp: "", command: "", expect: "", within: 30 };

export const routeOf = (domain: string, more: Partial<Route> = {}): Route => ({
  ...{ domains: [domain], path: "/", tls: "off", redirect: true, headers: {}, maintenance: "" },
  ...more,
});

/** Services with routes, and a proxy of their own on free ports. */
export async function openRouteScene(kind: ServiceKind, settings: Partial<ProxySettings> = {}) {
  const proxy = {
    ...noProxy,
    proxy: "caddy" as const,
    httpPort: freePort(),
    httpsPort: freePort(),
    ...settings,
  };
  const scene = await openServiceScene(kind, { proxy });
  const program = (name: string) => join(scene.source, name);
  writeFileSync(program("server.mjs"), webServer);
  if (!existsSync(program("bun"))) Bun.spawnSync(["cp", process.execPath, program("bun")]);
  const { httpPort } = proxy;
  return {
    ...scene,
    proxy,
    /** A web server with these routes. */
    web: (answer: string, routes: Route[], more: Partial<WireService> = {}): WireService =>
      scene.service("web", "exec ./bun server.mjs", {
        ...{ port: "$PORT", check, drain: 5, routes },
        env: { ANSWER: answer },
        ...more,
      }),
    /** A request to the proxy on a connection of its own. */
    ask: (domain: string, path = "/", init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${httpPort}${path}`, {
        ...init,
        headers: { Host: domain, ...init.headers },
        keepalive: false,
        redirect: "manual",
      }),
    async answer(domain: string, path = "/", init: RequestInit = {}): Promise<string> {
      const response = await this.ask(domain, path, init);
      return `${response.status} ${await response.text()}`;
    },
    /** Certificate of the proxy's own authority. */
    authority: () => readFileSync(join(scene.root, "proxy/data/pki/authorities/local/root.crt"), "utf8"),
    /** Whether the domain has a certificate, and one of this authority if it is given. */
    answersTls(domain: string, authority?: string): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const trust = authority === undefined ? { rejectUnauthorized: false } : { ca: authority };
      const place = { port: proxy.httpsPort, host: "127.0.0.1", servername: domain };
      const socket = connect({ ...place, ...trust }, () => resolve(true));
      socket.on("error", () => resolve(false));
      return promise.finally(() => socket.destroy());
    },
    /** A WebSocket through the proxy that is open. */
    async socket(domain: string): Promise<WebSocket> {
      const opened = Promise.withResolvers<void>();
      const socket = new WebSocket(`ws://127.0.0.1:${httpPort}/ws`, { headers: { Host: domain } } as never);
      socket.onopen = () => opened.resolve();
      socket.onerror = () => opened.reject(new Error(`no WebSocket to ${domain}`));
      await opened.promise;
      return socket;
    },
  };
}
export type RouteScene = Awaited<ReturnType<typeof openRouteScene>>;
