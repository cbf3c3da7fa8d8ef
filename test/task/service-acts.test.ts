import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { renderReason } from "../../src/reason/reason.ts";
import type { TransferEndRequest } from "../../src/runner/protocol.ts";
import { sendTransfer } from "../../src/runner/transfer/send-transfer.ts";
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

describe("data is sent to another runner", () => {
  /** Sends it, and returns what the server was told at its end. */
  async function send(onPart: () => void | Promise<void> = () => {}): Promise<TransferEndRequest | null> {
    let said: TransferEndRequest | null = null;
    await sendTransfer(
      { id: "sent", kind: "data", projectId: 7, taskId: 1, attempt: 1, root: scene.root },
      {
        workspaces: { root: scene.root, kept: () => [], dataOf: () => scene.data },
        services: scene.services(),
        client: {
          async transferSent() {
            await onPart();
            return { state: "waiting" };
          },
          async transferEnd(request) {
            said = request;
          },
        },
        log: pino({ level: "silent" }),
        stop: signal(),
      },
    );
    return said;
  }
  const act = (action: "start" | "stop") =>
    scene.services().act(7, action, ["web"], scene.progress, signal());

  test("after an earlier release that still drains has ended", async () => {
    await scene.deploy(scene.release([webService(scene, "one", { drain: 30 })]));
    const { port } = scene.report() ?? {};
    await scene.deploy(scene.release([web("two")]));
    await act("stop");
    expect(await answerOf(port)).toBe("one");
    const answers: (string | null)[] = [];
    const said = await send(async () => void answers.push(await answerOf(port)));
    expect(said).toEqual({ id: "sent", parts: 1 });
    expect(answers).toEqual([null]);
  });

  test("while nothing starts that may write to it", async () => {
    await scene.deploy(scene.release([web("one")]));
    await act("stop");
    const order: string[] = [];
    const later: Promise<void>[] = [];
    await send(() => {
      const command = scene.services().command(7, signal(), async () => {});
      later.push(act("start").then(() => void order.push("start")));
      later.push(command.then(() => void order.push("command")));
    });
    order.push("sent");
    await Promise.all(later);
    expect(order[0]).toBe("sent");
    expect(order.toSorted()).toEqual(["command", "sent", "start"]);
  });

  test("not while a service or a command runs", async () => {
    await scene.deploy(scene.release([web("one")]));
    expect(await send()).toMatchObject({ isFinal: true, reason: expect.stringContaining("service web") });
    await act("stop");
    const { promise, resolve } = Promise.withResolvers<void>();
    const command = scene.services().command(7, signal(), () => promise);
    expect(await send()).toMatchObject({ isFinal: true, reason: expect.stringContaining("A command") });
    resolve();
    await command;
    expect(await send()).toEqual({ id: "sent", parts: 1 });
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
