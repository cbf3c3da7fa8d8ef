import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { runTask } from "../../src/runner/protocol.ts";
import { eventually } from "../support/eventually.ts";
import { openRouteScene, type RouteScene, routeOf } from "../support/route-scene.ts";
import { serviceUrl } from "../support/services.ts";

const caddy = await serviceUrl("caddy");
const hasSandbox = Boolean(await serviceUrl("bwrap"));

describe.skipIf(!caddy)("what other programs of the machine can do", () => {
  let scene: RouteScene;
  beforeEach(async () => {
    scene = await openRouteScene(hasSandbox ? "sandbox" : "none", { caddyProgram: caddy });
  });
  afterEach(() => scene.stop());

  test("one that takes the port of a crashed service gets none of its requests", async () => {
    await scene.deploy(scene.release([scene.web("own", [routeOf("shop.test")])]));
    const port = scene.report()?.port ?? 0;
    await scene.ask("shop.test", "/crash", { method: "POST" });
    let foreign: ReturnType<typeof Bun.serve> | null = null;
    await eventually("the port is taken", () => {
      try {
        foreign = Bun.serve({ port, hostname: "127.0.0.1", fetch: () => new Response("foreign") });
        return true;
      } catch {
        return false;
      }
    });
    // Between the end of a process and the moment its keeper learns of it are milliseconds.
    await eventually(
      "the keeper has hidden the port",
      () => Bun.file(join(scene.instance(), "port")).size === 0,
    );
    const held = Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        await Bun.sleep(index * 200); // One after the other, before and after the port is free again.
        return scene.answer("shop.test");
      }),
    );
    await Bun.sleep(5000); // So long the other program has the port.
    await (foreign as ReturnType<typeof Bun.serve> | null)?.stop(true);
    expect(new Set(await held)).toEqual(new Set(["200 own GET 0"]));
  }, 90_000);

  test("one that listens beside the service, on another address of its port, is noticed", async () => {
    await scene.deploy(scene.release([scene.web("own", [routeOf("shop.test")])]));
    const port = scene.report()?.port ?? 0;
    const beside = Bun.listen({ port, hostname: "127.0.0.2", socket: { data() {} } });
    try {
      expect(await scene.answer("shop.test")).toBe("200 own GET 0");
    } finally {
      beside.stop(true);
    }
    await eventually("it is reached", async () => (await scene.answer("shop.test")) === "200 own GET 0");
  });

  test.skipIf(!hasSandbox)(
    "a service cannot reach the admin socket, the certificates and the links",
    async () => {
      const folders = ["proxy", "proxy/admin", "proxy/data", "routes", "routes/7/current"];
      const paths = folders.map((name) => join(scene.root, name)).join(" ");
      const spy = `for path in ${paths}; do if ls "$path" >/dev/null 2>&1; then echo "sees $path" >>"$DATA/seen"; fi; done; ./bun -e 'fetch("http://localhost/config/", { unix: "${join(scene.root, "proxy/admin")}" }).then((r) => r.text()).then((t) => require("fs").appendFileSync(process.env.DATA + "/seen", t), () => {})'; touch "$DATA/looked"; exec ./bun server.mjs`;
      await scene.deploy(scene.release([scene.web("one", [routeOf("shop.test")])]));
      await scene.deploy(scene.release([scene.web("spy", [routeOf("shop.test")], { command: spy })]));
      expect(await scene.answer("shop.test")).toBe("200 spy GET 0");
      expect(scene.linesOf("looked")).not.toEqual([]);
      expect(scene.linesOf("seen")).toEqual([]);
      expect(statSync(join(scene.root, "proxy")).mode & 0o777).toBe(0o700);
    },
  );
});

test("a runner refuses an instruction with a hostile text in a route", () => {
  const services = runTask.shape.services.unwrap().element;
  const route = routeOf("shop.test");
  const read = (change: object) => services.shape.routes.safeParse([{ ...route, ...change }]).success;
  expect(read({})).toBe(true);
  const hostile = [
    "{file./etc/shadow}",
    "a.test\nb",
    "a.test b",
    "Ä.test",
    "a".repeat(300),
    "a.test;",
    '"',
    "$host",
  ];
  for (const text of hostile) {
    expect(read({ domains: [text] })).toBe(false);
    expect(read({ path: `/${text}` })).toBe(false);
  }
  for (const text of ["{http.vars.x}", "a\r\nb", "ü", "x".repeat(3000)])
    expect(read({ headers: { "x-frame-options": text } })).toBe(false);
  expect(read({ headers: { "set-cookie": "a=b" } })).toBe(false);
  expect(read({ maintenance: "x".repeat(70_000) })).toBe(false);
});
