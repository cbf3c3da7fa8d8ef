import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildCli } from "../support/cli.ts";
import { type ContainerScene, startContainerScene } from "../support/container-scene.ts";
import { eventually } from "../support/eventually.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeTestUser } from "../support/test-user.ts";

const podman = await serviceUrl("podman");
const user = await makeTestUser("slipway-test-alone"); // The limit of processes counts those of other tests too.
let scene: ContainerScene;

beforeAll(async () => {
  if (user)
    scene = await startContainerScene(podman ?? "", {
      SLIPWAY_RUNNER_ENGINE: podman ? "podman" : "none",
      SLIPWAY_RUNNER_USER: user.name,
      SLIPWAY_RUNNER_ISOLATION: "none",
    });
});
afterAll(() => scene?.stop());

const onMachine = { image: "" };

describe.skipIf(!user)("runner.user without a sandbox", () => {
  test("scripts run as that user with its own group alone and a new home, and own their workspace", async () => {
    const build = [
      "id -un; id -G",
      'echo "home=$HOME user=$USER"',
      "grep -E '^Cap(Eff|Prm)' /proc/self/status",
      "echo built >out.txt; git log -1 --format=%s; mkdir -p deps; ls -ld deps/store/",
      "touch deps/store/kept",
      'test ! -w "$(dirname "$CI_WORKSPACE")" && test ! -w "$0" && echo cannot-change',
    ].join("\n");
    const { state, text } = await scene.run({ build }, onMachine, { cache: ["deps/store"] });
    expect(text).toContain(`\n${user?.name}\n${user?.gid}\n`);
    expect(text).toContain(`user=${user?.name}`);
    expect(text).toMatch(/home=\S+\/stages\/build\/home /);
    expect(text).toContain("CapPrm:\t0000000000000000");
    expect(text).toContain("CapEff:\t0000000000000000");
    expect(text).toContain("\nChange\n");
    expect(text).toContain("cannot-change");
    expect(state).toBe("success");
    const [task = ""] = readdirSync(join(scene.root, "releases/1"));
    // Other users of the machine read neither the checkout nor the clone.
    for (const path of [`releases/1/${task}/source`, `releases/1/${task}/scripts`, "cache/project-1.git"])
      expect([path, statSync(join(scene.root, path)).mode & 0o007]).toEqual([path, 0]);
    expect(statSync(join(scene.root, "shared/project-1/deps%2Fstore/kept")).uid).toBe(user?.uid ?? 0);
  });

  test("variables of the project reach no process that is still root, and the script as they are written", async () => {
    const folder = temporaryFolder("hostile");
    chmodSync(folder, 0o1777);
    for (const name of ["sh", "setpriv", "nice", "id", "cat"]) {
      writeFileSync(
        join(folder, name),
        `#!/bin/sh\n/usr/bin/id -u >>${folder}/ran-as\nexec /usr/bin/${name} "$@"\n`,
      );
      chmodSync(join(folder, name), 0o755);
    }
    const env = {
      // The first one found on the path runs; each process that reads the others writes a file as its own user.
      ...{ PATH: `${folder}:/usr/bin:/bin`, LD_DEBUG: "files", LD_DEBUG_OUTPUT: `${folder}/linker` },
      ...{ UID: "1000", IFS: "/", ODD: 'it\'s "me"\n$HOME `x` \\ $(id)\t#' },
    };
    const resources = { memoryBytes: null, cpus: null, processes: null, nice: 1 };
    const build = `env -0 | grep -z '^ODD=' >${folder}/odd; id >/dev/null; echo done`;
    const { state, text } = await scene.run({ build }, onMachine, { env, resources });
    expect(text).toContain("done");
    expect(state).toBe("success");
    const traces = readdirSync(folder).filter((name) => name.startsWith("linker"));
    expect(traces.length).toBeGreaterThan(0);
    expect(new Set(traces.map((name) => statSync(join(folder, name)).uid))).toEqual(
      new Set([user?.uid ?? 0]),
    );
    const uids = readFileSync(join(folder, "ran-as"), "utf8").trim().split("\n");
    expect(new Set(uids)).toEqual(new Set([String(user?.uid)]));
    expect(readFileSync(join(folder, "odd"), "utf8")).toBe(`ODD=${env.ODD}\0`);
  });

  test("its limits hold without a container: memory of a process, processes, priority", async () => {
    const resources = { memoryBytes: 64 * 1024 ** 2, cpus: null, processes: 30, nice: 7 };
    const build = [
      "ulimit -d; ulimit -u 2>/dev/null || ulimit -p",
      "awk '{print \"nice=\" $19}' /proc/self/stat",
      "head -c 200000000 /dev/zero | tail -c 190000000 >/dev/null && echo memory-taken || echo memory-refused",
    ].join("\n");
    const { text } = await scene.run({ build }, onMachine, { resources });
    expect(text).toMatch(/^65536\n30$/m);
    expect(text).toContain("memory-refused");
  });

  test("a canceled script of that user is ended", async () => {
    const before = scene.server.finished.length;
    scene.give({ build: "trap '' TERM; echo waiting; sleep 66; sleep 66" }, onMachine);
    await eventually("the script runs", () => scene.text().includes("waiting"));
    scene.server.answer = { continue: false, why: "canceled" };
    await eventually("it is canceled", () => scene.server.finished.length > before);
    scene.server.answer = { continue: true };
    expect(scene.server.finished.at(-1)?.state).toBe("canceled");
    expect(Bun.spawnSync(["pgrep", "-fx", "sleep 66"]).stdout.toString()).toBe("");
  });

  test.skipIf(!podman)("containers run as that user too", async () => {
    const { state, text } = await scene.run({
      build: 'echo "uid=$(id -u) home=$HOME"; echo x >made.txt; cat app.txt',
    });
    expect(state).toBe("success");
    expect(text).toContain(`uid=${user?.uid} home=/home/slipway`);
  });

  test("what cannot work ends the runner with exit code 2 and a way out", async () => {
    const closed = temporaryFolder("closed");
    chmodSync(closed, 0o700);
    const name = user?.name ?? "";
    for (const [settings, message] of [
      [{ USER: "no-such-user" }, "there is no user no-such-user on this machine. Create it: useradd"],
      [{ USER: "root" }, "must not be root"],
      [{ SCRIPT_USERS: "61000-61010" }, "is no longer supported: remove it; sandboxes separate projects"],
      [{ SCRIPT_USER: "no-such-user" }, "there is no user no-such-user on this machine"],
      [
        { USER: name, DIR: join(closed, "runner") },
        `${name}, who runs scripts, cannot enter ${closed}/runner. Set runner.dir`,
      ],
      [{ IMAGE: "alpine", ENGINE: "none" }, "there is no container engine: install podman or docker"],
    ] as const) {
      const given = Object.entries(settings).map(([key, value]) => [`SLIPWAY_RUNNER_${key}`, value]);
      const slipway = buildCli({ SLIPWAY_RUNNER_TOKEN: "token", ...Object.fromEntries(given) });
      const run = await slipway(["runner", "--server", scene.server.url]);
      expect(run.stderr).toContain(message);
      expect(run.exitCode).toBe(2);
    }
  });
});
