import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { holdersOfFile } from "../../src/runner/keeper/process-table.ts";
import { eventually } from "../support/eventually.ts";
import { isAlive } from "../support/process-watch.ts";
import { openRouteScene, type RouteScene, routeOf } from "../support/route-scene.ts";
import { serviceUrl } from "../support/services.ts";

const caddy = await serviceUrl("caddy");
const kind = (await serviceUrl("bwrap")) ? "sandbox" : "none";

describe.skipIf(!caddy)("programs that are killed", () => {
  let scene: RouteScene;
  beforeEach(async () => {
    scene = await openRouteScene(kind, { caddyProgram: caddy });
  });
  afterEach(() => scene.stop());
  const release = (answer: string) =>
    scene.release([
      scene.web(answer, [routeOf("shop.test")], { drain: 3 }),
      { ...scene.web(answer, [routeOf("shop.test", { path: "/api" })], { drain: 3 }), name: "api" },
    ]);
  const keeperLock = () => join(scene.root, "proxy/keeper/lock");
  const copyLock = () => join(scene.root, "proxy/keeper/copy");

  test("a runner at any moment of deploys: all routes of the project are of one release, which is the wanted one", async () => {
    await scene.deploy(release("start"));
    scene.services().close();
    for (let round = 0; round < 8; round += 1) {
      const names = [`${round}-a`, `${round}-b`, `${round}-c`];
      const given = { root: scene.root, kind, proxy: scene.proxy, releases: names.map(release) };
      const runner = Bun.spawn(
        [process.execPath, join(import.meta.dir, "../support/services-process.ts"), JSON.stringify(given)],
        { stdin: "ignore", stdout: "ignore", stderr: "inherit" },
      );
      await Bun.sleep(800 + Math.random() * 3000); // Any moment of the deploys.
      runner.kill("SIGKILL");
      await runner.exited;
      // Without a runner, what the link says serves.
      const answers = await Promise.all(
        ["/", "/api", "/", "/api"].map((path) => scene.answer("shop.test", path)),
      );
      expect(new Set(answers).size).toBe(1);
      expect(answers[0]).toMatch(/^200 \S+ GET 0$/);
    }
    await scene.reopen();
    const wanted = JSON.parse(readFileSync(join(scene.root, "services/7/wanted.json"), "utf8"));
    const links = readLinks();
    for (const { name, instance } of wanted.services)
      expect(links.some((to) => to.includes(`/${name}/${instance}/`))).toBe(true);
    expect(await scene.answer("shop.test")).toMatch(/^200 \S+ GET 0$/);
  }, 180_000);

  function readLinks(): string[] {
    const current = join(scene.root, "routes/7/current");
    const list = JSON.parse(readFileSync(join(current, "routes.json"), "utf8")) as {
      domain: string;
      path: string;
    }[];
    return list.map(({ domain, path }) => {
      const hash = new Bun.CryptoHasher("sha256").update(`${domain}${path}`).digest("hex").slice(0, 32);
      return readlinkSync(join(current, hash));
    });
  }

  test("Caddy and its keeper: the routes come back with the same configuration", async () => {
    await scene.deploy(release("one"));
    for (const pid of holdersOfFile(4, copyLock())) process.kill(pid, "SIGKILL");
    await eventually("Caddy is back", () => answers("200 one GET 0"));
    for (const pid of holdersOfFile(3, keeperLock())) process.kill(pid, "SIGKILL");
    expect(await scene.deploy(release("two"))).toMatchObject({ state: "success" });
    await eventually("there is a keeper", () => holdersOfFile(3, keeperLock()).length === 1);
    await eventually("the routes are back", () => answers("200 two GET 0"));
    for (const pid of [...holdersOfFile(3, keeperLock()), ...holdersOfFile(4, copyLock())])
      process.kill(pid, "SIGKILL");
    await scene.reopen();
    expect(await scene.answer("shop.test")).toBe("200 two GET 0");
  }, 120_000);

  test("the keeper of a service: its requests wait until it serves again", async () => {
    await scene.deploy(release("one"));
    const copies = holdersOfFile(4, join(scene.instance(), "copy"));
    for (const pid of holdersOfFile(3, join(scene.instance(), "lock"))) process.kill(pid, "SIGKILL");
    // A request that is in the service when it ends may fail.
    await eventually("its copy has ended", () => !copies.some(isAlive));
    expect(await scene.answer("shop.test", "/", { method: "POST", body: "abc" })).toBe("200 one POST 3");
  });

  const answers = (expected: string) =>
    scene.answer("shop.test").then(
      (answer) => answer === expected,
      () => false,
    );
});
