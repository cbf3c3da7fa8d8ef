import { type RunningContainer, removeContainer } from "./container.ts";
import {
  createControlGroup,
  type GroupLimits,
  moveInto,
  removeControlGroup,
  setGroupLimits,
} from "./control-group.ts";
import {
  endTree,
  isTreeAlive,
  type KillAt,
  type ProcessTree,
  type SendSignal,
  treeOf,
} from "./process-tree.ts";

export interface RunOptions {
  command: string[];
  cwd: string;
  /** The complete environment; nothing of the runner's own is added. */
  env: Record<string, string>;
  onOutput(bytes: Uint8Array): void;
  /** Aborted: the processes are ended, and a command that does not run yet never does. */
  stop: AbortSignal;
  timeoutMs: number;
  killAt: KillAt;
  /** Name of its control group, in which processes are found that leave the session; absent: it has none. */
  group?: string;
  /** Limits of the control group. */
  limits?: GroupLimits;
  /** The command is the client of this container. */
  container?: RunningContainer;
  /** The command is bwrap, with which everything inside ends. */
  isSandbox?: boolean;
  /** Called with the processes once they exist, and before the command runs; the caller releases them. */
  watch(tree: ProcessTree): void;
  send?: SendSignal;
}

export interface RunResult {
  end: "exited" | "stopped" | "timeout";
  /** Null: the command could not be ended. */
  exitCode: number | null;
  /** Processes that should have ended and are still alive. */
  survivors: number[];
  /** The command left processes behind, which were ended. */
  hadLeftovers: boolean;
  tree: ProcessTree;
}

/** A longer timer would fire at once. */
const timerMaxMs = 2 ** 31 - 1;

/** After the command has ended, a pipe that stays open is read until it has been quiet for this long … */
const outputQuietMs = 500;
/** … but at most for this long, if a process keeps writing. */
const outputDrainMs = 5000;

/**
 * Waits for a line before it runs the command, so that nothing runs that is not recorded: if the runner is killed first, or
 * cannot record the processes, the input ends and so does the shell.
 */
const waitThenRun = 'read -r slipway_may_run && exec "$@" </dev/null 2>&1';

/**
 * Runs one command in its own session with stdout and stderr in one pipe, so that their order is kept. After a stop or
 * a timeout, only the `survivors` are alive.
 */
export async function runProcess(options: RunOptions): Promise<RunResult> {
  const child = spawnWaiting(options);
  const { container } = options;
  const group = options.group === undefined ? null : groupFor(options.group, child.pid, options.limits);
  const tree: ProcessTree = {
    ...treeOf(child.pid),
    ...(group === null ? {} : { group }),
    ...(container ? { container } : {}),
    ...(options.isSandbox ? { isSandbox: true } : {}),
  };
  try {
    options.watch(tree);
    // Without the line the command does not run: it would otherwise run until its processes are ended.
    if (!options.stop.aborted) child.stdin.write("\n");
    await child.stdin.end();
  } catch (error) {
    await endTree(tree, () => 0, options.send);
    throw error;
  }
  const output = drain(child.stdout.getReader(), options.onOutput);

  const end = await firstEnd(child.exited, options);
  const hadLeftovers = end === "exited" && isTreeAlive(tree);
  const mustEnd = end !== "exited" || hadLeftovers;
  const survivors = mustEnd ? await endTree(tree, options.killAt, options.send) : [];
  const isLeaderAlive = survivors.some((pid) => Math.abs(pid) === child.pid);
  const exitCode = isLeaderAlive ? null : await child.exited;
  if (group !== null) removeControlGroup(group);
  // A client that ends by itself has removed its container, unless it failed or was killed.
  if (container && exitCode !== 0 && !mustEnd) await removeContainer(container);
  await output.finish();
  return { end, exitCode, survivors, hadLeftovers, tree };
}

/** The group with the waiting shell in it; null: no group could be created. */
function groupFor(name: string, pid: number, limits?: GroupLimits): string | null {
  const group = createControlGroup(name);
  if (group !== null && limits) setGroupLimits(group, limits);
  if (group === null || moveInto(group, pid)) return group;
  removeControlGroup(group);
  return null;
}

function spawnWaiting({ command, cwd, env }: RunOptions) {
  return Bun.spawn(["sh", "-c", waitThenRun, "sh", ...command], {
    cwd,
    env,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
    detached: true,
  });
}

function firstEnd(exited: Promise<number>, options: RunOptions): Promise<RunResult["end"]> {
  const { promise, resolve } = Promise.withResolvers<RunResult["end"]>();
  const timer = setTimeout(() => resolve("timeout"), Math.min(options.timeoutMs, timerMaxMs));
  const onStop = () => resolve("stopped");
  options.stop.addEventListener("abort", onStop, { once: true });
  if (options.stop.aborted) onStop();
  const onExit = () => resolve("exited");
  exited.then(onExit, onExit);
  return promise.finally(() => {
    clearTimeout(timer);
    options.stop.removeEventListener("abort", onStop);
  });
}

/**
 * A read that finds data at once does not end the turn of the event loop. Without a pause, a script that prints without end
 * would keep the runner from renewing the leases of all its tasks.
 */
const turnMaxMs = 20;

interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** Reads all output. `finish` waits for its end, unless a process that could not be ended keeps it open. */
function drain(reader: Reader, onOutput: (bytes: Uint8Array) => void): { finish(): Promise<void> } {
  let lastAt = performance.now();
  const isRead = (async () => {
    let turnAt = lastAt;
    for (;;) {
      const { done, value } = await reader.read();
      lastAt = performance.now();
      if (value) onOutput(value);
      if (done) return true;
      if (performance.now() - turnAt < turnMaxMs) continue;
      await Bun.sleep(0);
      turnAt = performance.now();
    }
  })();
  return {
    async finish() {
      const startedAt = performance.now();
      lastAt = startedAt;
      for (;;) {
        const isDone = await Promise.race([isRead, Bun.sleep(outputQuietMs / 5).then(() => false)]);
        if (isDone) return;
        const now = performance.now();
        if (now - lastAt < outputQuietMs && now - startedAt < outputDrainMs) continue;
        return reader.cancel().catch(() => {});
      }
    },
  };
}
