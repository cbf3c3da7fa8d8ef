import { expect, test } from "bun:test";
import { watchOthers } from "../../bench/idle-machine.ts";
import { eventually } from "../support/eventually.ts";

/** Uses a core until it is killed, for at most 60 s. */
const spin = ["timeout", "60", process.execPath, "-e", "for (;;) ;"];

test("a process that a benchmark has not started counts as another program, its own do not", async () => {
  // The shell ends at once, which makes the process an orphan.
  const shell = Bun.spawn(["sh", "-c", '"$@" >/dev/null 2>&1 & echo $!', "sh", ...spin], { stdout: "pipe" });
  const foreign = Number(await new Response(shell.stdout).text());
  await shell.exited;
  const watch = watchOthers();
  const own = Bun.spawn(spin, { stdout: "ignore", stderr: "ignore" });
  try {
    await eventually("both use the processor", () => [foreign, own.pid].every((pid) => ticksOf(pid) > 5));
    const pids = watch.stop().processes.map(({ pid }) => pid);
    expect(pids).toContain(childOf(foreign));
    expect(pids).not.toContain(childOf(own.pid));
  } finally {
    process.kill(foreign);
    own.kill();
    await own.exited;
  }
});

function childOf(pid: number): number {
  return Number(Bun.spawnSync(["pgrep", "-P", String(pid)]).stdout.toString());
}

/** User time of the only child of a process, in ticks of the kernel's clock. */
function ticksOf(pid: number): number {
  return Number(
    Bun.spawnSync(["cut", "-d", " ", "-f", "14", `/proc/${childOf(pid)}/stat`]).stdout.toString(),
  );
}
