import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type ContainerScene, leftContainers, startContainerScene } from "../support/container-scene.ts";
import { eventually } from "../support/eventually.ts";
import { testImage } from "../support/podman.ts";
import { serviceUrl } from "../support/services.ts";

const podman = await serviceUrl("podman");
let scene: ContainerScene;

beforeAll(async () => {
  if (podman) scene = await startContainerScene(podman);
});
afterAll(() => scene?.stop());

/** Made at run time, so that no file of this repository has it. */
const secret = `sec${crypto.randomUUID()}`;
const output = (command: string[]) => Bun.spawnSync(command).stdout.toString();

describe.skipIf(!podman)("a secret of a stage in a container", () => {
  test("is given to its script and nowhere else to be seen while it runs and after it", async () => {
    const build = [
      'test "$TOKEN" = "$(cat /run/slipway/env | sed -n "s/^TOKEN=\'\\(.*\\)\'$/\\1/p")"',
      '(echo >/run/slipway/env) 2>/dev/null && echo "the file can be written"',
      "mount | grep ' /run/slipway ' | grep -c '^tmpfs.*(ro'",
      'echo "token has $(printf %s "$TOKEN" | wc -c) characters: $TOKEN"',
      "echo ready; while [ ! -e go ]; do sleep 0.1; done",
    ].join("\n");
    const id = scene.give({ build }, {}, { secrets: { TOKEN: secret } });
    await eventually("the script runs", () => scene.text().includes("ready"));
    const [name = ""] = leftContainers();

    expect(output(["podman", "inspect", name])).not.toContain(secret);
    expect(output(["podman", "inspect", testImage])).not.toContain(secret);
    expect(output(["podman", "top", name, "args"])).not.toContain(secret);
    expect(output(["ps", "-eo", "args"])).not.toContain(secret);
    expect(filesWith("/var/lib/containers", secret)).toEqual([]);
    expect(filesWith(scene.root, secret)).toEqual([]);
    const holders = processesWith(secret);
    const mainPid = Number(output(["podman", "inspect", "--format", "{{.State.Pid}}", name]));
    // Only processes inside the container have it, below its first one.
    expect(holders.length).toBeGreaterThan(0);
    const namespaces = holders.map(namespaceOf).filter((namespace) => namespace !== "");
    expect(new Set(namespaces)).toEqual(new Set([namespaceOf(mainPid)]));

    const environments = readdirSync("/dev/shm").filter((entry) =>
      entry.startsWith(`slipway-env-${scene.runner.pid}-`),
    );
    expect(environments).toHaveLength(1);
    const folder = join("/dev/shm", environments[0] ?? "");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "env")).mode & 0o777).toBe(0o400);

    const [task = ""] = readdirSync(join(scene.root, "releases/1"));
    await Bun.write(join(scene.root, "releases/1", task, "source/go"), "");
    const { state, text } = await scene.end(id);
    expect(state).toBe("success");
    expect(text).toContain(`token has ${secret.length} characters: ***`);
    expect(text).not.toContain("can be written");
    expect(text).toMatch(/^1$/m);
    expect(
      readdirSync("/dev/shm").filter((entry) => entry.startsWith(`slipway-env-${scene.runner.pid}-`)),
    ).toEqual([]);
    expect(filesWith("/var/lib/containers", secret)).toEqual([]);
    expect(filesWith(scene.root, secret)).toEqual([]);
  });

  test("project settings give no way to a mount, a privilege or the engine's socket", async () => {
    const build = [
      'awk \'/^CapEff/ {print "caps=" $2} /^NoNewPrivs/ {print "newprivs=" $2}\' /proc/self/status',
      "ls /var/run/docker.sock /run/podman/podman.sock 2>/dev/null || echo no-socket",
      "mount -t tmpfs none /mnt 2>/dev/null || echo no-mount",
      "mknod /tmp/disk b 259 0 2>/dev/null && cat /tmp/disk >/dev/null 2>&1 || echo no-disk",
    ].join("\n");
    const attempts = [`${testImage} --privileged`, "--privileged", `--volume=/:/host ${testImage}`];
    const refusals = async () =>
      (await scene.runner.log()).split("refused an instruction that is not a well-formed run_task").length -
      1;
    for (const [index, image] of attempts.entries()) {
      scene.give({ build: "ls /host" }, { image });
      await eventually("it is refused", async () => (await refusals()) === index + 1);
    }
    const { state, text } = await scene.run({ build });
    expect(state).toBe("success");
    expect(text).toContain("newprivs=1");
    const capabilities = BigInt(`0x${/caps=([0-9a-f]+)/.exec(text)?.[1]}`);
    // CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_NET_ADMIN, CAP_SYS_MODULE
    for (const bit of [21n, 19n, 12n, 16n]) expect((capabilities >> bit) & 1n).toBe(0n);
    expect(text).toContain("no-socket\nno-mount\nno-disk");
  });
});

function filesWith(folder: string, text: string): string[] {
  return output(["grep", "-rlsF", "--", text, folder]).split("\n").filter(Boolean);
}

function processesWith(text: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
}

function namespaceOf(pid: number): string {
  return output(["readlink", `/proc/${pid}/ns/pid`]).trim();
}
