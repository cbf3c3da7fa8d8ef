import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { steadyClock } from "../../src/clock.ts";
import { createControlGroup, removeControlGroup } from "../../src/runner/process/control-group.ts";
import { runProcess } from "../../src/runner/process/process.ts";
import { textOf } from "../support/deploy-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { isAlive } from "../support/worker-instance.ts";

const folder = temporaryFolder("daemon");
const { server, repository } = await setUpDeploy();
const pidIn = (file: string) => Number(readFileSync(file, "utf8"));

/** Leaves a daemon as programs do: a session of its own, no parent, and nothing of the environment. */
const daemonise = (file: string, ignores = "") =>
  `env -i setsid sh -c '(${ignores} trap : USR1; echo $$ >/dev/null; sh -c "echo \\$PPID >${file}.new"; mv ${file}.new ${file}; while :; do sleep 1; done) >/dev/null 2>&1 </dev/null &'
  while [ ! -e ${file} ]; do sleep 0.05; done`;

const tried = createControlGroup(`try-${process.pid}`);
if (tried !== null) removeControlGroup(tried);

/** Without a sandbox and without control groups, daemons escape; the docs say so. */
describe.skipIf(tried === null)("a daemon with an empty environment, in a control group", () => {
  let number = 0;
  const run = (script: string, stop = new AbortController().signal) =>
    runProcess({
      command: ["sh", "-c", script],
      cwd: folder,
      env: { PATH: process.env.PATH ?? "" },
      onOutput: () => {},
      stop,
      timeoutMs: 60_000,
      killAt: (termedAt) => termedAt + 300,
      group: `test-${process.pid}-${++number}`,
      watch: () => {},
    });

  test("ends with its script", async () => {
    const file = join(folder, `pid-${++number}`);
    const result = await run(`${daemonise(file, 'trap "" TERM;')}\nexit 7`);
    expect(result).toMatchObject({ end: "exited", exitCode: 7, survivors: [], hadLeftovers: true });
    expect(isAlive(pidIn(file))).toBe(false);
    expect(existsSync(result.tree.group ?? "")).toBe(false);
  });

  test("ends when the run is stopped", async () => {
    const file = join(folder, `pid-${++number}`);
    const stop = new AbortController();
    const running = run(`${daemonise(file)}\nsleep 60`, stop.signal);
    await eventually("the daemon runs", () => existsSync(file));
    const stoppedAt = steadyClock.now();
    stop.abort();
    expect(await running).toMatchObject({ end: "stopped", survivors: [] });
    expect(steadyClock.now() - stoppedAt).toBeLessThan(20_000);
    expect(isAlive(pidIn(file))).toBe(false);
  });

  test("of a build ends with its task", async () => {
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
  });
});
