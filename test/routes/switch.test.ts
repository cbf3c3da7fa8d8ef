import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { renderReason } from "../../src/reason/reason.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { openRouteScene, type RouteScene, routeOf } from "../support/route-scene.ts";
import { serviceUrl } from "../support/services.ts";

const caddy = await serviceUrl("caddy");
const kind = (await serviceUrl("bwrap")) ? "sandbox" : "none";

describe.skipIf(!caddy)("routes by Caddy", () => {
  let scene: RouteScene;
  beforeEach(async () => {
    scene = await openRouteScene(kind, { caddyProgram: caddy });
  });
  afterEach(() => scene.stop());
  const shop = [routeOf("shop.test")];
  const deploy = (answer: string, more = {}) => scene.deploy(scene.release([scene.web(answer, shop, more)]));

  test("a deploy is reached by its domain, and the next one takes its place", async () => {
    expect(await deploy("one")).toMatchObject({ state: "success" });
    expect(await scene.answer("shop.test")).toBe("200 one GET 0");
    expect(await scene.answer("shop.test", "/", { method: "POST", body: "abc" })).toBe("200 one POST 3");
    expect(await scene.answer("other.test")).toStartWith("404 There is no route");
    expect(await deploy("two")).toMatchObject({ state: "success" });
    expect(await scene.answer("shop.test")).toBe("200 two GET 0");
    expect(scene.report()?.routes).toMatchObject([
      { domain: "shop.test", path: "/", url: "http://shop.test/" },
    ]);
  });

  test("the longest path counts, by segments, and two services of a project switch together", async () => {
    const services = (answer: string) => [
      scene.web(answer, [routeOf("shop.test", { headers: { "x-frame-options": "DENY" } })]),
      { ...scene.web(`${answer}-api`, [routeOf("shop.test", { path: "/api" })]), name: "api" },
    ];
    for (const answer of ["one", "two"]) {
      expect(await scene.deploy(scene.release(services(answer)))).toMatchObject({ state: "success" });
      expect(await scene.answer("shop.test", "/api")).toBe(`200 ${answer}-api GET 0`);
      expect(await scene.answer("shop.test", "/api/x")).toBe(`200 ${answer}-api GET 0`);
      expect(await scene.answer("shop.test", "/apix")).toBe(`200 ${answer} GET 0`);
      expect((await scene.ask("shop.test")).headers.get("x-frame-options")).toBe("DENY");
    }
  });

  test("requests wait while a service starts again after a crash, and the one that crashed it is not repeated", async () => {
    await deploy("one");
    expect((await scene.ask("shop.test", "/crash")).status).toBe(503);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        scene.answer("shop.test", "/", index % 2 === 0 ? {} : { method: "POST", body: "x".repeat(index) }),
      ),
    );
    expect(answers.filter((answer) => !answer.startsWith("200 one"))).toEqual([]);
    expect(scene.report()?.restarts).toBe(1);
  });

  test("a service that a person has stopped: the page at once, for every method, as it was written", async () => {
    const page = "<p>{file./etc/hostname} {http.request.host}\n";
    await scene.deploy(scene.release([scene.web("one", [routeOf("shop.test", { maintenance: page })])]));
    await scene.services().act(7, "stop", ["web"], scene.progress, new AbortController().signal);
    await eventually("the page is shown", async () => (await scene.ask("shop.test")).status === 503, 5000);
    for (const method of ["GET", "POST", "PUT"]) {
      const response = await scene.ask("shop.test", "/x", { method });
      expect(response.status).toBe(503);
      expect(response.headers.get("retry-after")).toBe("10");
      expect((await response.text()).trim()).toBe(page.trim());
    }
    await scene.services().act(7, "start", ["web"], scene.progress, new AbortController().signal);
    expect(await scene.answer("shop.test")).toBe("200 one GET 0");
  });

  test("a restart by a person and a deploy on a fixed port lose no request", async () => {
    const port = freePort();
    await deploy("one", { port, env: { ANSWER: "one", PORT: String(port) } });
    const answers: string[] = [];
    let isOver = false;
    const asking = (async () => {
      while (!isOver) answers.push(await scene.answer("shop.test", "/", { method: "POST", body: "x" }));
    })();
    await scene.services().act(7, "restart", ["web"], scene.progress, new AbortController().signal);
    await deploy("two", { port, env: { ANSWER: "two", PORT: String(port) } });
    await eventually("the new one answers", () => answers.at(-1) === "200 two POST 1");
    isOver = true;
    await asking;
    expect(answers.filter((answer) => !/^200 (one|two) POST 1$/.test(answer))).toEqual([]);
  });

  test("a domain and path of another project's release on this runner is refused by name", async () => {
    await deploy("one");
    const end = await scene.deploy({ ...scene.release([scene.web("two", shop)]), projectId: 8 });
    expect(end).toMatchObject({ state: "failed" });
    expect(renderReason(end.reason)).toContain("the route shop.test still belongs to a release of project 7");
    expect(await scene.answer("shop.test")).toBe("200 one GET 0");
  });

  test("a release without the route: the domain is gone", async () => {
    await deploy("one");
    await scene.deploy(scene.release([scene.web("two", [routeOf("new.test")])]));
    expect(await scene.answer("new.test")).toBe("200 two GET 0");
    // A removed domain changes the proxy's configuration, which closes kept connections.
    const statusOf = async (host: string) => (await scene.ask(host).catch(() => null))?.status;
    await eventually("the earlier domain is gone", async () => (await statusOf("shop.test")) === 404);
    await scene.deploy(scene.release([]));
    await eventually("no domain is left", async () => (await statusOf("new.test")) !== 200);
  });

  test("WebSockets of the earlier release stay until its drain, and the service ends with the last one", async () => {
    await deploy("one", { drain: 60 });
    const { port } = scene.report() ?? {};
    const socket = await scene.socket("shop.test");
    await deploy("two", { drain: 60 });
    const said = Promise.withResolvers<string>();
    socket.onmessage = ({ data }) => said.resolve(String(data));
    await Bun.sleep(5000); // A connection that the switch does not keep is closed by then.
    socket.send("hello");
    expect(await said.promise).toBe("one hello");
    socket.close();
    await eventually(
      "the earlier one has ended",
      () =>
        fetch(`http://127.0.0.1:${port}/`, { keepalive: false }).then(
          () => false,
          () => true,
        ),
      15_000,
    );
    expect(await scene.answer("shop.test")).toBe("200 two GET 0");
  });

  test("a port that is taken is named with its process", async () => {
    const other = Bun.serve({
      port: scene.proxy.httpPort,
      hostname: "0.0.0.0",
      fetch: () => new Response(""),
    });
    try {
      const end = await deploy("one");
      expect(end.state).toBe("failed");
      expect(renderReason(end.reason)).toMatch(
        new RegExp(`port ${scene.proxy.httpPort} of the machine is held by .* \\(process ${process.pid}\\)`),
      );
    } finally {
      await other.stop(true);
    }
    expect(await deploy("two")).toMatchObject({ state: "success" });
    expect(await scene.answer("shop.test")).toBe("200 two GET 0");
  });
});
