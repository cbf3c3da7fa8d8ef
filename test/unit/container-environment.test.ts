import { describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { containerRun } from "../../src/runner/stage/container-run.ts";
import { ordinary } from "../support/ordinary-user.ts";

/** Images bring their own `sh`. */
const shells = [["bash", "--posix"], ["dash"], ["busybox", "sh"]].filter(
  ([name]) => Bun.which(name ?? "") !== null,
);

/** Runs the first process of a container in a shell of this machine. */
function environmentIn(shell: string[], env: Record<string, string>): { exitCode: number; output: string } {
  const { command, container } = containerRun({
    engine: { name: "podman", arguments: [] },
    image: "image",
    network: "none",
    resources: { memoryBytes: null, cpus: null, processes: null, nice: 0 },
    user: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
    mounts: [],
    cwd: "/",
    command: ["env", "-0"],
    env,
    files: {},
    mark: "mark",
    taskId: 1,
  });
  try {
    const [dashC = "", wrapper = "", ...rest] = command.slice(command.indexOf("image") + 1);
    const first = wrapper.replaceAll("/run/slipway", container.folder);
    const ran = Bun.spawnSync([...shell, dashC, first, ...rest], { env: { PATH: process.env.PATH } });
    return { exitCode: ran.exitCode, output: ran.stdout.toString() };
  } finally {
    rmSync(container.folder, { recursive: true, force: true });
  }
}

describe.each(shells)("in an image whose sh is %s", (...shell) => {
  test("variables arrive as they are written, also those whose names the first process could use", () => {
    const env = {
      ...{ nice: "7", strict: "maybe", main: "m", code: "c", IFS: "/", PS4: "$(id)" },
      ODD: 'it\'s "me"\n$HOME `x` \\ $(id)\t#',
    };
    const { exitCode, output } = environmentIn(shell, env);
    expect(exitCode).toBe(0);
    const found = output.split("\0");
    // A shell does not export its own field separators.
    const { IFS: _, ...expected } = env;
    expect(found).toEqual(expect.arrayContaining(Object.entries(expected).map((pair) => pair.join("="))));
  });

  test("a name that the shell keeps for itself does not end the stage", () => {
    const reserved = { UID: "1000", EUID: "1", PPID: "1", GROUPS: "docker", SHELLOPTS: "x", OPTIND: "abc" };
    const { exitCode, output } = environmentIn(shell, { ...reserved, BASHOPTS: "x", AFTER: "yes" });
    expect(exitCode).toBe(0);
    expect(output.split("\0")).toContain("AFTER=yes");
  });
});

test("a runner starts although it may not read the folder of another session", () => {
  const folder = mkdtempSync("/dev/shm/slipway-session-");
  try {
    chmodSync(folder, 0o000);
    const module = join(import.meta.dir, "../../src/runner/stage/step-files.ts");
    const code = `(await import(${JSON.stringify(module)})).sweepStepFiles()`;
    const { exitCode, stderr } = Bun.spawnSync([...ordinary, process.execPath, "-e", code], {
      env: { PATH: process.env.PATH, XDG_RUNTIME_DIR: folder },
    });
    expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: "" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
