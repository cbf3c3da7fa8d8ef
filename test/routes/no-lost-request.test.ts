import { describe, expect, test } from "bun:test";
import { chmodSync, copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { makeRepository } from "../support/git-repository.ts";
import { longTest } from "../support/long-test.ts";
import { startLoadProcess } from "../support/request-load.ts";
import { openRouteScene, type RouteScene, routeOf, webServer } from "../support/route-scene.ts";
import { startServerProcess } from "../support/server-process.ts";
import { serviceUrl } from "../support/services.ts";
import { runnerFolderOf, scratchOf, temporaryFolder } from "../support/temporary-folder.ts";

const caddy = await serviceUrl("caddy");
const kind = (await serviceUrl("bwrap")) ? "sandbox" : "none";
/** Deploys before the rollback. `ROUTES_DEPLOYS=10` is the long form with more than 20,000 requests. */
const deploys = Number(process.env.ROUTES_DEPLOYS ?? 2);
const pauseMs = deploys > 2 ? 7000 : 500;
const perSecond = 200;

describe.skipIf(!caddy)("requests during deploys", () => {
  test(
    "none is lost through deploys, failing ones, a rollback, a crash after the switch and kills of runner and server",
    async () => {
      const proxy = { http: freePort(), https: freePort() };
      const dataDir = temporaryFolder("routes");
      const listen = { "server-listen": `127.0.0.1:${freePort()}` };
      const start = () =>
        startServerProcess(dataDir, {
          ...listen,
          ...{ "runner-proxy": "caddy", "runner-caddy-program": caddy ?? "" },
          ...{ "runner-http-port": String(proxy.http), "runner-https-port": String(proxy.https) },
        });
      let server = await start();
      const scratch = scratchOf(dataDir);
      const bun = join(scratch, "bun");
      copyFileSync(process.execPath, bun);
      chmodSync(bun, 0o755);
      const repository = await makeRepository();
      await repository.push({ "server.mjs": webServer, crashes: "" });
      const crashed = join(scratch, "crashed");
      const crashOnce = `if [ -s crashes ] && mkdir ${crashed}; then (sleep 2; date +%s%3N >${crashed}/at; kill -KILL $$) & fi`;
      const service = (domain: string) => ({
        command: `ANSWER=$CI_COMMIT; export ANSWER; ${crashOnce}\nexec ${bun} server.mjs`,
        check: { http: "/", within: 5 },
        drain: 20,
        routes: [{ domains: [domain], tls: domain === "shop.test" ? "internal" : "off", redirect: false }],
      });
      const project = (domain: string) =>
        server.project(
          repository.url,
          {},
          { rollback: "off", pipeline: { start: { web: service(domain) } } },
        );
      const deploy = async (projectId: number, state: "success" | "failed" = "success") =>
        server.reach((await server.run(projectId)).id, state);
      let version = 1;
      const push = (files: Record<string, string> = {}) =>
        repository.push({ "version.txt": String(version++), ...files });
      const listens = (domain: string) =>
        fetch(`http://127.0.0.1:${proxy.http}/`, { headers: { Host: domain }, keepalive: false });
      try {
        const chat = await project("chat.test");
        await deploy(chat);
        const shop = await project("shop.test");
        const first = await deploy(shop);
        const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(proxy.http)));
        let closed = 0;
        for (const socket of sockets) socket.onclose = () => (closed += 1);
        const authority = join(runnerFolderOf(dataDir), "proxy/data/pki/authorities/local/root.crt");
        const load = startLoadProcess(
          {
            domain: "shop.test",
            httpPort: proxy.http,
            https: { port: proxy.https, authority: readFileSync(authority, "utf8") },
          },
          perSecond,
        );
        const began = performance.now();
        for (let count = 0; count < deploys; count += 1) {
          await push();
          await deploy(shop);
          await Bun.sleep(pauseMs); // The load meets the release by itself too, not only its deploy.
          if (count % 5 !== 1) continue;
          await push({ "server.mjs": "process.exit(3);" });
          await deploy(shop, "failed");
          await push({ "server.mjs": webServer });
        }
        const path = `/api/projects/${shop}/rollback`;
        const back = await server.admin.expect<{ id: number }>(201, "POST", path, { taskId: first.id });
        await server.reach(back.id, "success");
        await push({ crashes: "once" });
        await deploy(shop);
        const services = `/api/projects/${shop}/services`;
        await eventually("it crashed once and serves again", async () => {
          const { services: found } = await server.admin.expect<{
            services: { restarts: number; state: string }[];
          }>(200, "GET", services);
          return found[0]?.restarts === 1 && found[0].state === "serving";
        });
        const runner = server.runnerPid();
        process.kill(runner, "SIGKILL");
        await eventually("another runner runs", () => server.runnerPid() !== runner);
        await push();
        await deploy(shop);
        await server.end("SIGKILL");
        server = await start();
        await push();
        await deploy(shop);
        await Bun.sleep(2 * pauseMs); // The load meets the last release too.
        const { sent, failures } = await load.end();
        const seconds = (performance.now() - began) / 1000;
        const crashedAt = Number(readFileSync(join(crashed, "at"), "utf8"));
        const inCrash = ({ sentAt, endedAt }: { sentAt: number; endedAt: number }) =>
          sentAt <= crashedAt + 20 && endedAt >= crashedAt;
        console.log(
          `${sent} requests in ${seconds.toFixed(0)} s, ${failures.filter(inCrash).length} of them in the crash`,
        );
        expect(failures.filter((failure) => !inCrash(failure))).toEqual([]);
        expect(sent).toBeGreaterThan(seconds * perSecond * 0.9);
        expect(closed).toBe(0);
        expect((await listens("chat.test")).status).toBe(200);
        const said = Promise.withResolvers<string>();
        const [socket] = sockets;
        if (socket) socket.onmessage = ({ data }) => said.resolve(String(data));
        socket?.send("still here");
        expect(await said.promise).toEndWith("still here");
      } finally {
        await server.end("SIGINT");
        repository.remove();
      }
    },
    longTest(600_000),
  );

  test("`pause` holds them while a step runs, and a runner that is killed meanwhile ends it", () =>
    scene(async (opened) => {
      await opened.deploy(opened.release([opened.web("one", [routeOf("shop.test")])]));
      const timed = async () => {
        const startedAt = performance.now();
        const answer = await opened.answer("shop.test", "/", { method: "POST", body: "abc" });
        return { answer, ms: performance.now() - startedAt };
      };
      const resume = await opened.services().pause(7);
      const held = Promise.all([timed(), timed()]);
      await Bun.sleep(1500); // So long they are held.
      await resume?.();
      for (const { answer, ms } of await held) {
        expect(answer).toBe("200 one POST 3");
        expect(ms).toBeGreaterThan(1000);
      }
      const killed = Bun.spawn(
        [
          process.execPath,
          join(import.meta.dir, "../support/pausing-process.ts"),
          join(opened.root, "routes"),
          "7",
        ],
        { stdout: "pipe", stdin: "ignore", stderr: "inherit" },
      );
      for await (const _ of killed.stdout) break;
      const late = timed();
      await Bun.sleep(500); // The request is held by then; nothing shows that it is.
      killed.kill("SIGKILL");
      expect((await late).answer).toBe("200 one POST 3");
      expect((await late).ms).toBeLessThan(10_000);
      expect((await timed()).ms).toBeLessThan(2000);
    }));
});

async function openSocket(port: number): Promise<WebSocket> {
  const opened = Promise.withResolvers<void>();
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers: { Host: "chat.test" } } as never);
  socket.onopen = () => opened.resolve();
  socket.onerror = () => opened.reject(new Error("no WebSocket"));
  await opened.promise;
  return socket;
}

async function scene(work: (scene: RouteScene) => Promise<void>): Promise<void> {
  const opened = await openRouteScene(kind, { caddyProgram: caddy });
  try {
    await work(opened);
  } finally {
    await opened.stop();
  }
}
