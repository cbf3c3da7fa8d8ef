import { closeSync, openSync } from "node:fs";
import { ownCommand } from "../../own-command.ts";
import { type RunningContainer, removeContainer } from "./container.ts";
import {
  createControlGroup,
  type GroupLimits,
  moveInto,
  removeControlGroup,
  setGroupLimits,
} from "./control-group.ts";
import { reaperCommand } from "./helper-commands.ts";
import {
  endTree,
  isTreeAlive,
  type KillAt,
  markVariable,
  type ProcessTree,
  type SendSignal,
} from "./process-tree.ts";
import type { ReaperTask } from "./reaper.ts";

export interface RunOptions {
  command: string[];
  cwd: string;
  /** The complete environment; nothing of the runner's own is added. */
  env: Record<string, string>;
  onOutput(bytes: Uint8Array): void;
  /** Receives the output instead of `onOutput`, also after this run: a service writes to it as long as it runs. */
  outputFile?: string;
  /** Aborted: the processes are ended, and a command that does not run yet never does. */
  stop: AbortSignal;
  timeoutMs: number;
  killAt: KillAt;
  /** Background processes of the command continue (a service), until the caller ends the tree. */
  mayLeaveProcesses: boolean;
  /** Mark of the processes of this run, see ProcessTree. */
  mark: string;
  /** How processes are found that leave the session and clear their environment; absent: they are not. */
  containment?: Containment;
  /** Limits of the control group of the run. */
  limits?: GroupLimits;
  /** The command is the client of this container. */
  container?: RunningContainer;
  /** The command is bwrap, with which everything inside ends. */
  isSandbox?: boolean;
  /** Called with the processes once they exist, and before the command runs; the caller releases them. */
  watch(tree: ProcessTree): void;
  send?: SendSignal;
}

/** `group`: a control group for the run; a reaper with this time between SIGTERM and SIGKILL, where there is none. */
export type Containment = "group" | { graceMs: number };

export interface RunResult {
  end: "exited" | "stopped" | "timeout";
  /** Null: the command could not be ended. */
  exitCode: number | null;
  /** Processes that should have ended and are still alive. */
  survivors: number[];
  /** The command left processes behind: alive if that is allowed, otherwise ended. */
  hadLeftovers: boolean;
  /** A living process still holds the output, which is no longer read. */
  isOutputHeld: boolean;
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
  const { mark, container } = options;
  const group = options.containment === "group" ? groupFor(mark, child.pid, options.limits) : null;
  const tree: ProcessTree = {
    ...{ leader: child.pid, mark },
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
  const output =
    child.stdout instanceof ReadableStream ? drain(child.stdout.getReader(), options.onOutput) : null;

  const end = await firstEnd(child.exited, options);
  const hadLeftovers = end === "exited" && isTreeAlive(tree);
  const mustEnd = end !== "exited" || (hadLeftovers && !options.mayLeaveProcesses);
  const survivors = mustEnd ? await endTree(tree, options.killAt, options.send) : [];
  const isLeaderAlive = survivors.some((pid) => Math.abs(pid) === child.pid);
  const exitCode = isLeaderAlive ? null : await child.exited;
  if (group !== null && !hadLeftovers) removeControlGroup(group);
  // A client that ends by itself has removed its container, unless it failed or was killed.
  if (container && exitCode !== 0 && !mustEnd) await removeContainer(container);
  return {
    end,
    exitCode,
    survivors,
    hadLeftovers,
    isOutputHeld: output !== null && !(await output.finish()),
    tree,
  };
}

/** The group with the waiting shell in it; null: no group could be created. */
function groupFor(mark: string, pid: number, limits?: GroupLimits): string | null {
  const group = createControlGroup(mark);
  if (group !== null && limits) setGroupLimits(group, limits);
  if (group === null || moveInto(group, pid)) return group;
  removeControlGroup(group);
  return null;
}

/** The command and its folder. A reaper may be root, and must not read settings of the runtime from a workspace. */
function started({ command, cwd, containment, mayLeaveProcesses }: RunOptions) {
  if (containment === undefined || containment === "group") return { command, cwd };
  const task: ReaperTask = { command, cwd, graceMs: mayLeaveProcesses ? null : containment.graceMs };
  return { command: [...ownCommand(), reaperCommand, JSON.stringify(task)], cwd: "/" };
}

function spawnWaiting(options: RunOptions) {
  const { env, mark, outputFile } = options;
  const { command, cwd } = started(options);
  const file = outputFile === undefined ? null : openSync(outputFile, "a", 0o600);
  try {
    return Bun.spawn(["sh", "-c", waitThenRun, "sh", ...command], {
      cwd,
      env: { ...env, [markVariable]: mark },
      stdin: "pipe",
      stdout: file ?? "pipe",
      stderr: "ignore",
      detached: true,
    });
  } finally {
    if (file !== null) closeSync(file);
  }
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

/** Reads all output. `finish` returns whether its end was reached. */
function drain(reader: Reader, onOutput: (bytes: Uint8Array) => void): { finish(): Promise<boolean> } {
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
        if (isDone) return true;
        const now = performance.now();
        if (now - lastAt < outputQuietMs && now - startedAt < outputDrainMs) continue;
        await reader.cancel().catch(() => {});
        return false;
      }
    },
  };
}
