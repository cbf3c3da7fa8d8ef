import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { renderReason } from "../../src/reason/reason.ts";
import { holdersOfFile } from "../../src/runner/keeper/process-table.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { openServiceScene, type ServiceScene, stubborn, witnessCheck } from "../support/keeper-scene.ts";
import { serviceUrl } from "../support/services.ts";
import { answerOf, webCheck, webService } from "../support/web-service.ts";

const hasSandbox = Boolean(await serviceUrl("bwrap"));
const kind = hasSandbox ? "sandbox" : "none";
let scene: ServiceScene;
beforeEach(async () => {
  scene = await openServiceScene(kind);
});
afterEach(() => scene.stop());

const web = (text: string, more = {}, port?: string) => webService(scene, text, more, port);

describe("a deploy of services", () => {
  test("starts one with $PORT beside the earlier one, and ends that after its drain", async () => {
    expect(await scene.deploy(scene.release([web("one", { drain: 2 })]))).toMatchObject({ state: "success" });
    const first = scene.report()?.port;
    expect(await answerOf(first)).toBe("one");
    expect(await scene.deploy(scene.release([web("two")]))).toMatchObject({ state: "success" });
    const second = scene.report()?.port;
    expect(second).not.toBe(first);
    expect(await answerOf(second)).toBe("two");
    expect(await answerOf(first)).toBe("one");
    await eventually("the first one has ended", async () => (await answerOf(first)) === null);
    expect(scene.events).toEqual([
      "begin web",
      "end web success",
      "begin web",
      "end web success",
      "replacing",
    ]);
    expect(scene.services().serving(7)).toMatchObject({
      taskId: 2,
      services: [{ name: "web", state: "serving" }],
    });
  });

  test("a check that fails: the new one ends with its reason, and the earlier one was not touched", async () => {
    await scene.deploy(scene.release([web("one")]));
    const { port, since } = scene.report() ?? {};
    const end = await scene.deploy(
      scene.release([web("two", { check: webCheck({ expect: "three", within: 2 }) })]),
    );
    expect(end).toMatchObject({ state: "failed", earlier: "untouched" });
    expect(renderReason(end.reason)).toContain(
      'did not pass within 2 s: the response does not contain "three"',
    );
    expect(renderReason(end.reason)).toContain("listening");
    expect(scene.report()).toMatchObject({ port: port ?? 0, since: since ?? "", taskId: 1 });
    expect(await answerOf(port)).toBe("one");
    expect(scene.events).not.toContain("replacing");
    expect(readdirSync(join(scene.root, "services/7/web"))).toEqual(["1-1"]);
  });

  test("one of several that dies fails the deploy at once, with its name and its last lines", async () => {
    const worker = scene.service("worker", "echo no queue; sleep 1; exit 3", {
      check: webCheck({ within: 30 }),
      port: "$PORT",
    });
    const at = performance.now();
    const end = await scene.deploy(
      scene.release([web("one", { check: webCheck({ expect: "never" }) }), worker]),
    );
    expect(performance.now() - at).toBeLessThan(10_000);
    expect(end.state).toBe("failed");
    expect(renderReason(end.reason)).toBe("the service worker ended by itself (3); last output: no queue");
    expect(scene.services().reports()).toEqual([]);
    expect(scene.services().serving(7)).toBeNull();
  });

  test("a fixed port: the earlier one ends first, and starts again if the new one fails", async () => {
    const port = await freePort();
    const fixed = (text: string, more = {}) => web(text, { port, ...more }, String(port));
    await scene.deploy(scene.release([fixed("one")]));
    expect(await scene.deploy(scene.release([fixed("two")]))).toMatchObject({ state: "success" });
    expect(await answerOf(port)).toBe("two");
    const end = await scene.deploy(
      scene.release([fixed("three", { check: webCheck({ expect: "x", within: 1 }) })]),
    );
    expect(end).toMatchObject({ state: "failed", earlier: "restored" });
    expect(await answerOf(port)).toBe("two");
    expect(scene.report()).toMatchObject({ taskId: 2, state: "serving" });
  });

  test("a renamed service is the end of one and the start of another, also on the same port", async () => {
    const port = await freePort();
    await scene.deploy(
      scene.release([web("one", { port }, String(port)), scene.service("old", "sleep 100")]),
    );
    const renamed = { ...web("two", { port }, String(port)), name: "api" };
    expect(await scene.deploy(scene.release([renamed]))).toMatchObject({ state: "success" });
    expect(await answerOf(port)).toBe("two");
    expect(
      scene
        .services()
        .reports()
        .map(({ name }) => name),
    ).toEqual(["api"]);
    await eventually(
      "the others have ended",
      () => !scene.services().isUsed(join(scene.source, "../release-1")),
    );
    expect(await scene.deploy(scene.release([]))).toMatchObject({ state: "success" });
    await eventually("nothing is left", async () => (await answerOf(port)) === null);
    expect(scene.services().serving(7)).toBeNull();
  });

  test("a port that another program holds is named, and its answer does not count", async () => {
    const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("fine") });
    const port = other.port ?? 0;
    const silent = scene.service("web", "sleep 100", { port, check: webCheck({ within: 2 }) });
    const end = await scene.deploy(scene.release([silent]));
    await other.stop(true);
    expect(end.state).toBe("failed");
    expect(renderReason(end.reason)).toMatch(
      new RegExp(`port ${port} is held by .*\\(process ${process.pid}\\)`),
    );
  });

  test("ports come from the range, each one once", async () => {
    const first = await freePort();
    scene.options.ports = { first, last: first + 1 };
    await scene.reopen();
    const sleeper = (name: string) =>
      scene.service(name, "sleep 100", { port: "$PORT", check: webCheck({ http: "", command: "true" }) });
    await scene.deploy(scene.release([sleeper("a"), sleeper("b")]));
    const ports = scene
      .services()
      .reports()
      .map(({ port }) => port);
    expect(ports.toSorted()).toEqual([first, first + 1]);
    const end = await scene.deploy(scene.release([sleeper("c")], { projectId: 8 }));
    expect(renderReason(end.reason)).toContain(`no port from ${first} to ${first + 1} is free`);
  });

  test("a keeper that is killed during a long deploy: its service starts again meanwhile", async () => {
    await scene.deploy(scene.release([web("one")]));
    const { port } = scene.report() ?? {};
    const first = scene.instance();
    const stop = new AbortController();
    const never = web("two", { check: webCheck({ expect: "never", within: 600 }) });
    const deployed = scene.deploy(scene.release([never]), stop.signal);
    await eventually(
      "the new one runs",
      () => existsSync(join(scene.instance(), "state")) && scene.instance() !== first,
    );
    for (const pid of holdersOfFile(3, join(first, "lock"))) process.kill(pid, "SIGKILL");
    await eventually("nothing answers", async () => (await answerOf(port)) === null);
    await eventually("it answers again", async () => (await answerOf(port)) === "one");
    stop.abort();
    expect(await deployed).toMatchObject({ state: "canceled", earlier: "untouched" });
    expect(await answerOf(port)).toBe("one");
  });

  test("canceled while it waits: the new one ends", async () => {
    const stop = new AbortController();
    const deployed = scene.deploy(
      scene.release([web("one", { check: webCheck({ expect: "never" }) })]),
      stop.signal,
    );
    await eventually("it is starting", () => scene.state() === "starting");
    stop.abort();
    expect(await deployed).toMatchObject({ state: "canceled" });
    expect(scene.services().reports()).toEqual([]);
  });

  test("the scripts `switch` run before the earlier ones end; a failure switches back", async () => {
    await scene.deploy(scene.release([web("one", { switch: "true" })]));
    scene.events.length = 0;
    scene.progress.runSwitch = async (each, port) => {
      const text = await answerOf(port);
      scene.events.push(`switch ${each.env.ANSWER} ${text}`);
      return text === "two" ? "the proxy refused" : null;
    };
    const end = await scene.deploy(scene.release([web("two", { switch: "true" })]));
    expect(end).toMatchObject({ state: "failed", reason: "the proxy refused", earlier: "restored" });
    expect(scene.events.slice(2)).toEqual(["replacing", "switch two two", "switch one one"]);
    expect(await answerOf(scene.report()?.port)).toBe("one");
  });

  test("a runner that was killed in a deploy: the next one ends the new ones and keeps the earlier ones", async () => {
    const never = web("two", { check: webCheck({ expect: "never", within: 600 }) });
    const releases = [scene.release([web("one")]), scene.release([never])];
    scene.services().close();
    const runner = startRunner(releases);
    await eventually(
      "the new one runs",
      () => existsSync(join(scene.instance(), "state")) && scene.instance().endsWith("2-2"),
    );
    runner.kill("SIGKILL");
    await runner.exited;
    await scene.reopen();
    await scene.serves();
    expect(await answerOf(scene.report()?.port)).toBe("one");
    expect(scene.report()).toMatchObject({ taskId: 1, restarts: 0 });
    await eventually(
      "the new one has ended",
      () => !existsSync(join(scene.root, "services/7/web/2-2/state")),
    );
  });

  test("a runner that was killed while a script `switch` ran: the next one switches back, then the new one ends", async () => {
    const point = `printf %s "$PORT" > ${scene.data}/upstream`;
    const releases = [
      scene.release([web("one", { switch: point })]),
      scene.release([web("two", { switch: "hang" })]),
    ];
    scene.services().close();
    const runner = startRunner(releases);
    const wanted = join(scene.root, "services/7/wanted.json");
    await eventually(
      "the script runs",
      () => existsSync(wanted) && readFileSync(wanted, "utf8").includes('"isSwitching":true'),
    );
    const portOf = (instance: string) =>
      JSON.parse(readFileSync(join(scene.root, "services/7/web", instance, "instance.json"), "utf8")).port;
    const ports = [portOf("1-1"), portOf("2-2")];
    runner.kill("SIGKILL");
    await runner.exited;
    expect(await Promise.all(ports.map(answerOf))).toEqual(["one", "two"]);
    await scene.reopen();
    expect(scene.linesOf("upstream")).toEqual([String(ports[0])]);
    await eventually("the new one has ended", async () => (await answerOf(ports[1])) === null);
    expect(await answerOf(ports[0])).toBe("one");
    expect(scene.report()).toMatchObject({ taskId: 1, restarts: 0 });
    expect(readFileSync(wanted, "utf8")).not.toContain('"isSwitching":true');
  });

  test("a runner that was killed after the earlier one had ended: that starts when the new one has ended", async () => {
    const never = { http: "", tcp: "", command: "false", expect: "", within: 600 };
    const releases = [
      scene.release([scene.service("web", scene.witness, { check: witnessCheck })]),
      scene.release([scene.service("web", stubborn(scene.witness), { check: never })]),
    ];
    scene.services().close();
    const runner = startRunner(releases);
    await eventually("the new one runs", () => scene.linesOf("starts").length === 2);
    runner.kill("SIGKILL");
    await runner.exited;
    await scene.reopen();
    await scene.serves();
    expect(scene.report()).toMatchObject({ taskId: 1 });
    expect(scene.violations()).toEqual([]);
  });

  test("runners that are killed at any moment of deploys: never two copies, and at the end one serves", async () => {
    const service = (more = {}) => scene.service("web", scene.witness, { check: witnessCheck, ...more });
    const releases = () => [1, 2, 3].map(() => scene.release([service()]));
    scene.services().close();
    for (let round = 0; round < 12; round += 1) {
      const runner = startRunner(releases());
      await Bun.sleep(600 + Math.random() * 2500); // Any moment of the deploys.
      runner.kill("SIGKILL");
      await runner.exited;
    }
    await scene.reopen();
    await eventually("one serves", () => scene.state() === "serving" && scene.copies().length > 0);
    expect(scene.violations()).toEqual([]);
    expect(scene.linesOf("starts").length).toBeGreaterThan(3);
  });
});

function startRunner(releases: unknown[]) {
  const given = JSON.stringify({ root: scene.root, kind, releases });
  return Bun.spawn([process.execPath, join(import.meta.dir, "../support/services-process.ts"), given], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
  });
}
