import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import type { RunTask } from "../../src/runner/protocol.ts";
import { type ContainerScene, leftContainers, startContainerScene } from "../support/container-scene.ts";
import { eventually } from "../support/eventually.ts";
import { sampleLimits } from "../support/fake-server.ts";
import { testImage } from "../support/podman.ts";
import { serviceUrl } from "../support/services.ts";

const podman = await serviceUrl("podman");
let scene: ContainerScene;

beforeAll(async () => {
  if (podman) scene = await startContainerScene(podman);
});
afterAll(async () => {
  await scene?.stop();
  expect(leftContainers()).toEqual([]);
});

describe.skipIf(!podman)("a stage with an image", () => {
  test("runs in a container with the workspace, and a stage without one on the machine", async () => {
    const build = [
      "echo container=$(readlink /bin/sh) $CI_STAGE $CI_COMMIT $GREETING",
      'test "$PWD" = "$CI_WORKSPACE"; cat app.txt; echo built >out.txt',
      "ls -d /usr/bin/git /opt 2>/dev/null || echo bare",
      'echo "pid=$$ home=$HOME path=$PATH"',
    ].join("\n");
    const { state, text } = await scene.run({ build }, {}, { env: { GREETING: 'it\'s "me"\n$HOME `x`' } });
    expect(state).toBe("success");
    expect(text).toMatch(/container=busybox build [0-9a-f]{40} it's "me" \$HOME `x`/);
    expect(text).toContain("\none\nbare\n");
    expect(text).toMatch(/home=\/home\/slipway path=\/usr\/local\/sbin/);
    const kept = readdirSync(join(scene.root, "releases/1"));
    expect(readFileSync(join(scene.root, "releases/1", kept[0] ?? "", "source/out.txt"), "utf8")).toBe(
      "built\n",
    );
  });

  test("hands its files on to a stage on the machine", async () => {
    const id = scene.give({ build: "echo built >out.txt", deploy: "cat out.txt; git log -1 --format=%s" });
    const given = scene.server.instructions.at(-1) as RunTask;
    for (const { name, steps } of given.stages)
      if (name === "deploy") for (const step of steps) step.image = "";
    const { state, text } = await scene.end(id);
    expect(state).toBe("success");
    expect(text).toContain("\nbuilt\nChange");
  });

  test("fails with the exit code of its script, or a reason if there is no container", async () => {
    expect(await scene.run({ build: "echo before; exit 7" })).toMatchObject({
      state: "failed",
      reason: "build failed with exit code 7",
    });
    const missing = await scene.run({ build: "true" }, { image: "localhost/no-such-image:1" });
    expect(missing.state).toBe("failed");
    expect(missing.reason).toContain("exit code 125: the container could not be started");
    expect(missing.text).toContain("no-such-image");
  });

  test("ignores the user and the entry point that the image names", async () => {
    const other = "localhost/slipway-test/other:latest";
    const make = `c=$(podman create ${(podman ?? "").replaceAll(",", " ")} ${testImage} true) &&
      podman commit -q --change USER=1000 --change 'ENTRYPOINT ["/bin/false"]' $c ${other} && podman rm $c`;
    expect(Bun.spawnSync(["sh", "-c", make]).exitCode).toBe(0);
    const { state, text } = await scene.run(
      { build: "echo x >made.txt; echo uid=$(id -u)=$(stat -c %u made.txt)" },
      { image: other },
    );
    expect(state).toBe("success");
    const user = Bun.spawnSync(["id", "-u", "slipway-run"]).stdout.toString().trim();
    const uid = process.getuid?.() === 0 ? user : "0";
    expect(text).toContain(`uid=${uid}=${uid}`);
  });

  test("runs a script by its #! line, and a health check in a container too", async () => {
    const start = "#!/bin/sh\necho by-line; readlink /bin/ls >kind.txt";
    const command = 'grep busybox kind.txt && test "$(readlink /bin/sh)" = busybox';
    const check = { http: "", tcp: "", command, expect: "", within: 20 };
    const { state, text } = await scene.run({ start }, { check });
    expect(state).toBe("success");
    expect(text).toContain("by-line");
  });

  test("keeps its limits of memory, processors and processes", async () => {
    const resources = { memoryBytes: 64 * 1024 ** 2, cpus: 0.5, processes: 20, nice: 5 };
    const limits = [
      "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || true",
      "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || true",
      "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null || true",
      "awk '{print \"nice=\" $19}' /proc/self/stat",
      "n=0; while [ $n -lt 40 ]; do sleep 5 & n=$((n+1)); done 2>/dev/null; echo forked",
    ].join("\n");
    const within = await scene.run({ build: limits }, {}, { resources });
    expect(within.text).toMatch(/^67108864$/m);
    expect(within.text).toMatch(/^50000( 100000)?$/m);
    expect(within.text).toMatch(/^20$/m);
    expect(within.text).toContain(`nice=${getPriority() + 5}`);
    expect(within.text).not.toContain("forked");
    const above = await scene.run(
      {
        build: "head -c 200m /dev/zero | tail -c 190m | wc -c; dd if=/dev/zero of=/dev/null bs=200M count=1",
      },
      {},
      { resources },
    );
    expect(above.state).toBe("failed");
    expect(above.reason).toContain(
      "exit code 137: a process was killed, probably by the memory limit of 64 MB",
    );
  });
});

describe.skipIf(!podman)("the network of a container", () => {
  test("reaches other machines but not the loopback of the runner; `none` reaches nothing", async () => {
    const listener = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("reached") });
    const { port } = listener;
    const probe = [
      'ip -o link | cut -d: -f2 | cut -d@ -f1 | tr -d "\\n"; echo " links"',
      `echo x | nc -w 2 127.0.0.1 ${port} && echo loopback-reached || echo loopback-closed`,
      "gateway=$(ip route | awk '/^default/ {print $3}')",
      'echo "gateway=$gateway"',
      `if [ -n "$gateway" ]; then echo x | nc -w 2 "$gateway" ${port} && echo gateway-reached || echo gateway-closed; fi`,
    ].join("\n");
    try {
      const bridge = await scene.run({ build: probe });
      expect(bridge.state).toBe("success");
      expect(bridge.text).toMatch(/lo eth0 links/);
      expect(bridge.text).toMatch(/gateway=\d/);
      expect(bridge.text).not.toContain("-reached");
      const before = scene.server.lines.length;
      const none = await scene.run({ build: probe }, { network: "none" });
      expect(none.state).toBe("success");
      const text = scene.server.lines
        .slice(before)
        .map((line) => line.text)
        .join("\n");
      expect(text).toMatch(/^ ?lo links$/m);
      expect(text).toMatch(/^gateway=$/m);
    } finally {
      await listener.stop(true);
    }
  });

  test("is not quietly given to a stage that must have none", async () => {
    const id = scene.give({ build: "echo never" }, { network: "none" });
    const given = scene.server.instructions.at(-1) as RunTask;
    for (const step of given.stages.flatMap(({ steps }) => steps)) step.image = "";
    expect(await scene.end(id)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("build must have no network, which needs a sandbox or a container: "),
    });
  });
});

describe.skipIf(!podman)("an end before its time", () => {
  test("cancel gives the script time to end, and leaves no container", async () => {
    const build = "trap 'echo ending; exit 3' TERM; echo ready; while :; do sleep 0.1; done";
    scene.give({ build }, {}, { limits: { ...sampleLimits(), stopGraceMs: 60_000 } });
    await eventually("the script runs", () => scene.text().includes("ready"));
    expect(leftContainers()).toHaveLength(1);
    scene.server.answer = { continue: false, why: "canceled" };
    await eventually("it is canceled", () => scene.server.finished.at(-1)?.state === "canceled");
    scene.server.answer = { continue: true };
    expect(scene.text()).toContain("ending");
    expect(leftContainers()).toEqual([]);
  });

  test("a timeout ends a script that ignores SIGTERM, with all its processes", async () => {
    const build = "trap '' TERM; (trap '' TERM; sleep 77) & sleep 77 & echo ready; wait; sleep 77";
    const { state } = await scene.run({ build }, { timeoutMs: 2500 });
    expect(state).toBe("timeout");
    expect(leftContainers()).toEqual([]);
    const sleeping = Bun.spawnSync(["pgrep", "-fx", "sleep 77"]).stdout.toString();
    expect(sleeping).toBe("");
  });
});

describe.skipIf(!podman)("what survives a task", () => {
  test("a cache folder does, not for builds of forks, and not above its limit", async () => {
    const build =
      'ls -A deps/store; echo "seen=$(cat deps/store/count 2>/dev/null)"; echo 1 >>deps/store/count';
    const cache = ["deps/store", "app.txt", "../outside", ".git/hooks"];
    await scene.run({ build }, {}, { cache });
    await scene.repository.git("push", "-q", "origin", "HEAD:refs/pull/7/head");
    const before = scene.server.lines.length;
    const textSince = () =>
      scene.server.lines
        .slice(before)
        .map((line) => line.text)
        .join("\n");
    await scene.run({ build }, {}, { cache, ref: "refs/pull/7/head", cacheScope: "fork-7b35605898ef" });
    expect(textSince()).toMatch(/^seen=$/m);
    await scene.run({ build }, {}, { cache });
    expect(textSince()).toContain("seen=1");
    expect(textSince()).toContain(
      "[the folder app.txt is not cached: the repository has something of that name]",
    );
    expect(textSince()).toContain(
      "[the folder ../outside is not cached: it is not a folder below the workspace]",
    );
    expect(existsSync(join(scene.root, "shared/project-1/deps%2Fstore/count"))).toBe(true);
    expect(existsSync(join(scene.root, "shared/fork-1-7b35605898ef/deps%2Fstore/count"))).toBe(true);
  });
});

test.skipIf(!podman)("the image of the tests is there", () => {
  expect(Bun.spawnSync(["podman", "image", "exists", testImage]).exitCode).toBe(0);
});
