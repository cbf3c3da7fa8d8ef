import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { type ContainerScene, leftContainers, startContainerScene } from "../support/container-scene.ts";
import { eventually } from "../support/eventually.ts";
import { serviceUrl } from "../support/services.ts";

const podman = await serviceUrl("podman");
let scene: ContainerScene;
afterEach(() => scene?.stop());

const script = "(trap '' TERM; sleep 88) & echo ready; sleep 88";
/** Those of the runner of the test: others may run at the same time. */
const environments = () =>
  readdirSync("/dev/shm").filter((name) => name.startsWith(`slipway-env-${scene.runner.pid}-`));
const isGone = () => leftContainers().length === 0;

describe.skipIf(!podman)("kill -9", () => {
  test("of the runner: its guard removes the container and the secrets of the stage", async () => {
    scene = await startContainerScene(podman ?? "");
    scene.give({ build: script });
    await eventually("the script runs", () => scene.text().includes("ready"));
    expect(leftContainers()).toHaveLength(1);
    expect(environments()).toHaveLength(1);
    process.kill(scene.runner.pid, "SIGKILL");
    await eventually("the container is gone", isGone);
    await eventually("the environment is gone", () => environments().length === 0);
    expect(Bun.spawnSync(["pgrep", "-fx", "sleep 88"]).stdout.toString()).toBe("");
  });

  test("of runner and guard at once: the next runner removes the container", async () => {
    scene = await startContainerScene(podman ?? "");
    scene.give({ build: script });
    await eventually("the script runs", () => scene.text().includes("ready"));
    const guards = childrenOf(scene.runner.pid).filter((pid) => argumentsOf(pid).includes("runner-guard"));
    expect(guards).toHaveLength(1);
    for (const pid of [...guards, scene.runner.pid]) process.kill(pid, "SIGKILL");
    await Bun.sleep(300);
    expect(leftContainers()).toHaveLength(1);
    const next = await startContainerScene(podman ?? "", { SLIPWAY_RUNNER_DIR: scene.root });
    try {
      await eventually("the container is gone", isGone);
      await eventually("the environment is gone", () => environments().length === 0);
    } finally {
      await next.stop();
    }
  });

  test("of the engine's client: the stage fails and leaves no container", async () => {
    scene = await startContainerScene(podman ?? "");
    const id = scene.give({ build: script });
    await eventually("the script runs", () => scene.text().includes("ready"));
    const clients = childrenOf(scene.runner.pid).filter((pid) => argumentsOf(pid).startsWith("podman run"));
    expect(clients).toHaveLength(1);
    for (const pid of clients) process.kill(pid, "SIGKILL");
    expect((await scene.end(id)).state).toBe("failed");
    expect(leftContainers()).toEqual([]);
  });
});

function childrenOf(parent: number): number[] {
  const output = Bun.spawnSync(["pgrep", "-P", String(parent)]).stdout.toString();
  return output.split("\n").filter(Boolean).map(Number);
}

function argumentsOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
}
