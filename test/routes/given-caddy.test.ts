import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, copyFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { renderReason } from "../../src/reason/reason.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { openRouteScene, type RouteScene, routeOf } from "../support/route-scene.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const caddy = await serviceUrl("caddy");

/** A Caddy that somebody else has started, without routes. */
async function startCaddy(listen: string, as: string[] = [], program = caddy ?? "") {
  const folder = temporaryFolder("given-caddy");
  const config = join(folder, "caddy.json");
  writeFileSync(config, JSON.stringify({ admin: { listen, config: { persist: false } } }));
  chmodSync(folder, 0o755);
  const child = Bun.spawn([...as, program, "run", "--config", config], {
    env: { HOME: folder },
    stdio: ["ignore", "ignore", "ignore"],
  });
  return {
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async end(): Promise<void> {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

describe.skipIf(!caddy)("a Caddy that runs already (runner.caddy)", () => {
  let scene: RouteScene;
  const running: Awaited<ReturnType<typeof startCaddy>>[] = [];
  const start = async (...how: Parameters<typeof startCaddy>) => {
    const given = await startCaddy(...how);
    running.push(given);
    return given;
  };
  afterEach(async () => {
    await scene.stop();
    for (const given of running.splice(0)) await given.end();
  });
  const deploy = (answer: string) => scene.deploy(scene.release([scene.web(answer, [routeOf("shop.test")])]));
  const answers = (expected: string) =>
    eventually(`shop.test answers ${expected}`, async () => {
      const answer = await scene.answer("shop.test").catch(() => "");
      return answer === expected;
    });

  test.each(["a URL", "a Unix socket"])(
    "serves routes and their switches by %s",
    async (kind) => {
      const port = freePort();
      const socket = join(temporaryFolder("admin"), "admin");
      const [listen, address] =
        kind === "a URL" ? [`127.0.0.1:${port}`, `http://127.0.0.1:${port}`] : [`unix/${socket}`, socket];
      const given = await start(listen);
      scene = await openRouteScene("none", { caddy: address });
      await eventually("a release is deployed", async () => (await deploy("one")).state === "success");
      await answers("200 one GET 0");
      // The configuration changes with a new domain: the address of the admin API still answers.
      const more = scene.web("two", [routeOf("shop.test"), routeOf("more.test")]);
      expect(await scene.deploy(scene.release([more]))).toMatchObject({ state: "success" });
      await answers("200 two GET 0");
      expect(await scene.answer("more.test")).toBe("200 two GET 0");
      // It begins again with what its own unit says; the runner gives it the routes back.
      await given.end();
      const again = await start(listen);
      await answers("200 two GET 0");
      await scene.stop();
      expect(again.isRunning()).toBe(true);
    },
    90_000,
  );

  test("one that does not answer fails the deploy with its address", async () => {
    // A free port may be taken by another test meanwhile; nothing listens at this one.
    const address = "http://127.0.0.1:1";
    scene = await openRouteScene("none", { caddy: address });
    const { state, reason } = await deploy("one");
    expect(state).toBe("failed");
    expect(renderReason(reason)).toContain(address);
  }, 60_000);

  test.skipIf(process.getuid?.() !== 0)(
    "one that may not write to the folder of the runner is told from one that may not listen",
    async () => {
      const port = freePort();
      const program = join(temporaryFolder("program"), "caddy");
      copyFileSync(caddy ?? "", program);
      chmodSync(dirname(program), 0o755);
      await start(`127.0.0.1:${port}`, ["setpriv", "--reuid=65534", "--clear-groups"], program);
      scene = await openRouteScene("none", { caddy: `http://127.0.0.1:${port}` });
      await eventually("Caddy says it", async () => {
        const said = renderReason((await deploy("one")).reason);
        return said.includes("permission denied") && !said.includes("port");
      });
    },
    60_000,
  );
});
