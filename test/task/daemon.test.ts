import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { steadyClock } from "../../src/clock.ts";
import { hasControlGroups } from "../../src/runner/process/control-group.ts";
import { type Containment, runProcess } from "../../src/runner/process/process.ts";
import { endTree } from "../../src/runner/process/process-tree.ts";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy, setUpServerProcess } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { withoutGroups } from "../support/without-groups.ts";
import { isAlive } from "../support/worker-instance.ts";

const folder = temporaryFolder("daemon");

const scenes = {
  "of a runner that may create control groups, if there are any": await setUpDeploy(),
  "of a runner without control groups": await setUpServerProcess({}, withoutGroups),
};
const pidIn = (file: string) => Number(readFileSync(file, "utf8"));

/** Leaves a daemon as programs do: a session of its own, no parent, and nothing of the environment. */
const daemonise = (file: string, ignores = "") =>
  `env -i setsid sh -c '(${ignores} trap : USR1; echo $$ >/dev/null; sh -c "echo \\$PPID >${file}.new"; mv ${file}.new ${file}; while :; do sleep 1; done) >/dev/null 2>&1 </dev/null &'
  while [ ! -e ${file} ]; do sleep 0.05; done`;

const ways: [string, Containment][] = [["a reaper", { graceMs: 300 }]];
if (hasControlGroups()) ways.unshift(["a control group", "group"]);
const isLinux = process.platform === "linux";

describe.skipIf(!isLinux)("a daemon with an empty environment", () => {
  let number = 0;
  const run = (
    script: string,
    containment: Containment,
    more: { mayLeaveProcesses?: boolean; stop?: AbortSignal } = {},
  ) =>
    runProcess({
      command: ["sh", "-c", script],
      cwd: folder,
      env: { PATH: process.env.PATH ?? "" },
      onOutput: () => {},
      stop: new AbortController().signal,
      timeoutMs: 60_000,
      killAt: (termedAt) => termedAt + 300,
      mayLeaveProcesses: false,
      mark: `test-${process.pid}-${++number}`,
      watch: () => {},
      containment,
      ...more,
    });

  test.each(ways)("ends with its script, by %s", async (_way, containment) => {
    const file = join(folder, `pid-${++number}`);
    const result = await run(`${daemonise(file, 'trap "" TERM;')}\nexit 7`, containment);
    expect(result).toMatchObject({ end: "exited", exitCode: 7, survivors: [] });
    expect(isAlive(pidIn(file))).toBe(false);
  });

  test.each(ways)("ends when the run is stopped, by %s", async (_way, containment) => {
    const file = join(folder, `pid-${++number}`);
    const stop = new AbortController();
    const running = run(`${daemonise(file)}\nsleep 60`, containment, { stop: stop.signal });
    await eventually("the daemon runs", () => existsSync(file));
    const stoppedAt = steadyClock.now();
    stop.abort();
    expect(await running).toMatchObject({ end: "stopped", survivors: [] });
    expect(steadyClock.now() - stoppedAt).toBeLessThan(20_000);
    expect(isAlive(pidIn(file))).toBe(false);
  });

  test.each(ways)("continues after a start, with %s", async (way, containment) => {
    const file = join(folder, `pid-${++number}`);
    const result = await run(daemonise(file), containment, { mayLeaveProcesses: true });
    expect(result).toMatchObject({ end: "exited", exitCode: 0 });
    expect(isAlive(pidIn(file))).toBe(true);
    if (way === "a control group") {
      expect(await endTree(result.tree, (termedAt) => termedAt + 300)).toEqual([]);
      expect(isAlive(pidIn(file))).toBe(false);
      expect(existsSync(result.tree.group ?? "")).toBe(false);
    } else process.kill(pidIn(file), "SIGKILL");
  });
});

describe.skipIf(!isLinux)("a task", () => {
  test.each(Object.entries(scenes))(
    "%s leaves no daemon of its build behind, also with an empty environment",
    async (_name, { server, repository }) => {
      const own = temporaryFolder("daemon-task");
      chmodSync(own, 0o777);
      const file = join(own, "pid");
      const id = await server.project(repository.url, { build: daemonise(file) });
      const task = await server.run(id);
      expect(await server.reach(task.id)).toMatchObject({ state: "success" });
      expect(isAlive(pidIn(file))).toBe(false);
      expect(textOf(await server.log(task.id))).toContain(
        "processes that the script left in the background were ended",
      );
    },
  );
});
