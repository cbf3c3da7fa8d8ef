import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { startLoad } from "../support/request-load.ts";
import { openRouteScene, type RouteScene, routeOf } from "../support/route-scene.ts";
import { serviceUrl } from "../support/services.ts";

const caddy = await serviceUrl("caddy");
const kind = (await serviceUrl("bwrap")) ? "sandbox" : "none";

async function scene(work: (scene: RouteScene) => Promise<void>): Promise<void> {
  const opened = await openRouteScene(kind, { caddyProgram: caddy });
  try {
    await work(opened);
  } finally {
    await opened.stop();
  }
}

describe.skipIf(!caddy)("requests during deploys", () => {
  test(
    "none is lost through deploys, a failing one, a rollback, a crash after the switch and restarts of the runner",
    () =>
      scene(async (opened) => {
        const routes = [routeOf("shop.test", { tls: "internal", redirect: false })];
        const deploy = (answer: string, more = {}) =>
          opened.deploy(opened.release([opened.web(answer, routes, { drain: 30, ...more })]));
        const chat = { ...opened.release([opened.web("chat", [routeOf("chat.test")])]), projectId: 8 };
        expect(await opened.deploy(chat)).toMatchObject({ state: "success" });
        expect(await deploy("one")).toMatchObject({ state: "success" });
        const sockets = await Promise.all(Array.from({ length: 20 }, () => opened.socket("chat.test")));
        let closed = 0;
        for (const socket of sockets) socket.onclose = () => (closed += 1);
        await eventually("there is a certificate", () => opened.answersTls("shop.test"));
        const load = startLoad(
          {
            domain: "shop.test",
            httpPort: opened.proxy.httpPort,
            https: { port: opened.proxy.httpsPort, authority: opened.authority() },
          },
          200,
        );
        await Bun.sleep(500);
        for (const answer of ["two", "three"])
          expect(await deploy(answer)).toMatchObject({ state: "success" });
        const bad = { http: "/", tcp: "", command: "", expect: "nothing", within: 1 };
        expect(await deploy("bad", { check: bad })).toMatchObject({ state: "failed", earlier: "untouched" });
        await opened.reopen();
        // A rollback is a deploy of an earlier release.
        expect(await deploy("two")).toMatchObject({ state: "success" });
        const delayed = `(sleep 1.5; kill -KILL $$) & exec ./bun server.mjs`;
        const once = `if mkdir "$DATA/crashed"; then ${delayed}; else exec ./bun server.mjs; fi`;
        expect(await deploy("four", { command: once })).toMatchObject({ state: "success" });
        await eventually("it crashed once and serves again", () => {
          const { restarts, state } =
            opened
              .services()
              .reports()
              .find(({ projectId }) => projectId === 7) ?? {};
          return restarts === 1 && state === "serving";
        });
        await opened.reopen();
        expect(await deploy("five")).toMatchObject({ state: "success" });
        // The drain of the earlier ones, whose connections have ended.
        await Bun.sleep(5000);
        const { sent, failures } = await load.end();
        expect(sent).toBeGreaterThan(2000);
        // Only those that were in the service when it crashed.
        expect(failures.filter((failure) => !failure.endsWith(": 503"))).toEqual([]);
        expect(failures.length).toBeLessThanOrEqual(4);
        expect(closed).toBe(0);
        const said = Promise.withResolvers<string>();
        const [socket] = sockets;
        if (socket) socket.onmessage = ({ data }) => said.resolve(String(data));
        socket?.send("still here");
        expect(await said.promise).toBe("chat still here");
      }),
    180_000,
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
      await Bun.sleep(1500);
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
      await Bun.sleep(500);
      killed.kill("SIGKILL");
      expect((await late).answer).toBe("200 one POST 3");
      expect((await late).ms).toBeLessThan(10_000);
      expect((await timed()).ms).toBeLessThan(2000);
    }));
});
