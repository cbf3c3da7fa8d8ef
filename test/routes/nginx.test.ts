import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { renderReason } from "../../src/reason/reason.ts";
import { openAccessLog } from "../../src/runner/route/access-log.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { childrenOf } from "../support/process-watch.ts";
import { startLoad } from "../support/request-load.ts";
import { startNginx } from "../support/reverse-proxies.ts";
import { openRouteScene, type RouteScene, routeOf } from "../support/route-scene.ts";
import { type RunningService, serviceFolder } from "../support/service-process.ts";
import { serviceUrl } from "../support/services.ts";

const nginx = await serviceUrl("nginx");

describe.skipIf(!nginx)("routes by nginx", () => {
  let scene: RouteScene;
  let proxy: RunningService;
  let include: string;
  beforeEach(async () => {
    const folder = serviceFolder("nginx");
    include = join(folder, "conf.d");
    mkdirSync(include);
    const port = freePort();
    const other = `server { listen ${port} default_server; return 404; } include ${include}/*.conf;`;
    proxy = await startNginx({ executable: nginx ?? "", port }, folder, other);
    scene = await openRouteScene("none", {
      ...{ proxy: "nginx", nginx: include, httpPort: port },
      nginxReload: `${nginx} -p ${folder} -c ${folder}/nginx.conf -s reload`,
    });
  });
  afterEach(async () => {
    await scene.stop();
    await proxy.stop();
  });
  const answers = (expected: string, path = "/") =>
    eventually(`${path} answers ${expected}`, async () =>
      (await scene.answer("shop.test", path)).startsWith(expected),
    );

  /** Workers from before a reload may still accept a connection. There is one worker at a time. */
  const earlierWorkersEnded = () =>
    eventually("the earlier workers have ended", () => childrenOf(proxy.pid, "worker process").length === 1);

  test("deploys by include and reload: no request on new connections is lost, WebSockets stay", async () => {
    const deploy = (answer: string) =>
      scene.deploy(scene.release([scene.web(answer, [routeOf("shop.test")], { drain: 30 })]));
    expect(await deploy("one")).toMatchObject({ state: "success" });
    await answers("200 one");
    await earlierWorkersEnded();
    const socket = await scene.socket("shop.test");
    let isClosed = false;
    socket.onclose = () => {
      isClosed = true;
    };
    const load = startLoad({ domain: "shop.test", httpPort: scene.proxy.httpPort, https: null }, 100);
    for (const answer of ["two", "three"]) {
      expect(await deploy(answer)).toMatchObject({ state: "success" });
      await answers(`200 ${answer}`);
    }
    await Bun.sleep(3000); // Workers that do not keep their WebSockets have ended by then.
    expect(isClosed).toBe(false);
    const { sent, failures } = await load.end();
    expect(sent).toBeGreaterThan(300);
    // nginx closes kept connections at a reload.
    expect(failures.filter(({ came }) => !came.includes("kept connection"))).toEqual([]);
    socket.close();
  }, 120_000);

  test("headers with every character, a page while nothing serves, TLS refused in words", async () => {
    const value = `a "quoted" $host \\ 'x'; #`;
    const route = routeOf("shop.test", { headers: { "x-robots-tag": value }, maintenance: "<p>$host {x}" });
    expect(await scene.deploy(scene.release([scene.web("one", [route])]))).toMatchObject({
      state: "success",
    });
    await answers("200 one");
    await eventually(
      "the header is there",
      async () => (await scene.ask("shop.test")).headers.get("x-robots-tag") === value,
    );
    await scene.services().act(7, "stop", ["web"], scene.progress, new AbortController().signal);
    await answers("503 <p>$host {x}");
    expect(await scene.answer("shop.test", "/", { method: "POST", body: "x" })).toStartWith("503 <p>");
    const secure = scene.release([scene.web("two", [routeOf("shop.test", { tls: "internal" })])]);
    const end = await scene.deploy(secure);
    expect(renderReason(end.reason)).toContain("the route shop.test has TLS");
    expect(await scene.services().pause(7)).toBeNull();
    expect(existsSync(join(include, "slipway.conf"))).toBe(true);
    expect(readFileSync(join(include, "slipway.conf"), "utf8")).toContain("server_name shop.test;");
  }, 60_000);

  test("requests are counted by service, also those that got the page", async () => {
    const routes = [routeOf("shop.test"), routeOf("shop.test", { path: "/api" })];
    expect(await scene.deploy(scene.release([scene.web("one", routes)]))).toMatchObject({ state: "success" });
    await answers("200 one");
    await answers("200 one", "/api");
    await earlierWorkersEnded();
    const log = openAccessLog(join(scene.root, "proxy/access.log"));
    const headers = { Authorization: "Bearer s3cret" };
    for (let index = 0; index < 5; index += 1) await scene.answer("shop.test", "/api/x?s3cret", { headers });
    await scene.services().act(7, "stop", ["web"], scene.progress, new AbortController().signal);
    await answers("503");
    // Of each minute: a new one may begin between two requests.
    const total = { success: 0, serverError: 0 };
    await eventually("they are counted", () => {
      log.read();
      const next = () => log.unsent("7/web", Date.now() + 120_000);
      for (let figures = next(); figures !== null; figures = next()) {
        total.success += figures.success;
        total.serverError += figures.serverError;
        // Milliseconds, which nginx writes as seconds.
        expect(figures.p95Ms).toBeLessThan(30_000);
        log.sent("7/web", figures);
      }
      return total.success >= 5 && total.serverError >= 1;
    });
    expect(readFileSync(join(scene.root, "proxy/access.log"), "utf8")).not.toContain("s3cret");
  }, 60_000);
});
