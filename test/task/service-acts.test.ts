import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderReason } from "../../src/reason/reason.ts";
import { eventually } from "../support/eventually.ts";
import { openServiceScene, type ServiceScene } from "../support/keeper-scene.ts";
import { serviceUrl } from "../support/services.ts";
import { answerOf, webCheck, webService } from "../support/web-service.ts";

const kind = (await serviceUrl("bwrap")) ? "sandbox" : "none";
let scene: ServiceScene;
beforeEach(async () => {
  scene = await openServiceScene(kind);
});
afterEach(() => scene.stop());

const web = (text: string) => webService(scene, text);
const signal = () => new AbortController().signal;

describe("what people do with services", () => {
  test("stop, start and restart; a stopped one stays stopped for the next runner", async () => {
    await scene.deploy(scene.release([web("one"), scene.service("other", "sleep 100")]));
    expect(await scene.services().act(7, "stop", ["web"], scene.progress, signal())).toMatchObject({
      state: "success",
    });
    expect(scene.state()).toBe("stopped");
    expect(scene.state("other")).toBe("serving");
    await scene.reopen();
    await Bun.sleep(600); // Time enough for a start, which must not take place.
    expect(scene.state()).toBe("stopped");
    expect(await answerOf(scene.report()?.port)).toBeNull();
    expect(await scene.services().act(7, "start", ["web"], scene.progress, signal())).toMatchObject({
      state: "success",
    });
    expect(await answerOf(scene.report()?.port)).toBe("one");
    const { startedAt = "" } = scene.report() ?? {};
    await scene.services().act(7, "restart", ["web"], scene.progress, signal());
    expect((scene.report()?.startedAt ?? "") > startedAt).toBe(true);
    expect(scene.report()).toMatchObject({ restarts: 0, state: "serving" });
    const end = await scene.services().act(7, "stop", ["nobody"], scene.progress, signal());
    expect(renderReason(end.reason)).toBe("the release that serves on this runner has no service nobody");
  });

  test("a service that has ended by itself before can be restarted", async () => {
    await scene.deploy(scene.release([scene.service("web", "sleep 6; exit 3", { stopGrace: 1 })]));
    await eventually("it has ended", () => (scene.report()?.exits.length ?? 0) > 0);
    expect(await scene.services().act(7, "restart", ["web"], scene.progress, signal())).toMatchObject({
      state: "success",
    });
    expect(scene.report()).toMatchObject({ restarts: 0, exits: [], lastExit: null, lastLines: "" });
  });

  test("Ctrl-C ends all services; the next start starts them", async () => {
    await scene.deploy(scene.release([web("one")]));
    const { port } = scene.report() ?? {};
    await scene.services().stopAll();
    expect(await answerOf(port)).toBeNull();
    await scene.reopen();
    await scene.serves();
    expect(await answerOf(port)).toBe("one");
  });
});

test("unhealthy after three checks that failed, and serving again after one that passed", async () => {
  writeFileSync(join(scene.data, "ok"), "");
  const service = scene.service("web", "sleep 1000", {
    check: webCheck({ http: "", command: `test -e "$DATA/ok"` }),
  });
  const clock = { ...scene.options.clock };
  let ahead = 0;
  scene.options.clock = { now: clock.now, elapsed: () => clock.elapsed() + ahead };
  await scene.reopen();
  await scene.deploy(scene.release([service]));
  Bun.spawnSync(["rm", join(scene.data, "ok")]);
  for (let failures = 0; failures < 3; failures += 1) {
    expect(scene.state()).toBe("serving");
    ahead += 31_000;
    await Bun.sleep(1500); // The check runs and is counted; a report shows only the third.
  }
  expect(scene.report()).toMatchObject({ state: "unhealthy", fault: "exit code 1" });
  writeFileSync(join(scene.data, "ok"), "");
  ahead += 31_000;
  await scene.serves();
  expect(readFileSync(join(scene.instance(), "env"), "utf8")).toContain("TOKEN=");
});
