import { buildBackoff, pause, steadyClock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import { ownCommand } from "../../own-command.ts";
import { lostGraceMs, type RunTask } from "../protocol.ts";
import { engineEnvironment } from "./container.ts";
import type { GuardMessage } from "./guard.ts";
import { guardCommand } from "./guard-command.ts";
import type { ProcessTree } from "./process-tree.ts";

/**
 * The runner's side of its guard process, which ends scripts if the runner was killed or is suspended. A runner without a
 * task has no guard.
 */
export interface Lifeline {
  guard(instruction: Pick<RunTask, "taskId" | "attempt" | "limits">): TaskGuard;
  close(): void;
}

export interface TaskGuard {
  /** The server acknowledged the task at this time of steadyClock. */
  renewed(provenAt: number): void;
  /** The runner ends the task's processes itself. */
  ending(): void;
  watch(tree: ProcessTree): void;
  /** The processes have ended. */
  release(tree: ProcessTree): void;
  close(): void;
}

/** How much later than the runner the guard acts, as a fraction of the time after which the runner gives up. */
const guardDelay = 1 / 45;

/** The guard stays this long after the last task, so that tasks in a row share it. */
const guardIdleMs = 60_000;

interface WatchedTask {
  provenAt: number;
  limits: RunTask["limits"];
  isEnding: boolean;
  trees: Map<number, ProcessTree>;
}

export function openLifeline(log: Logger, idleMs = guardIdleMs): Lifeline {
  const tasks = new Map<string, WatchedTask>();
  const closing = new AbortController();
  const backoff = buildBackoff(100, 10_000);
  let guard: ReturnType<typeof start> | null = null;
  let idleTimer: ReturnType<typeof setTimeout> | undefined;

  function start() {
    // The initial list is an argument: the runner may hang before it writes to the pipe.
    const child = Bun.spawn([...ownCommand(), guardCommand, JSON.stringify(everything())], {
      stdin: "pipe",
      stdout: "ignore",
      stderr: "ignore",
      env: { PATH: "/usr/bin:/bin", ...engineEnvironment(process.env) },
      // A separate session, so that a signal to the runner's process group does not end the guard.
      detached: true,
    });
    child.unref();
    void child.exited.then(() => {
      if (guard === child) void replace();
    });
    return child;
  }

  /** The new guard knows everything. */
  function ensureGuard(): void {
    clearTimeout(idleTimer);
    if (guard !== null) return;
    try {
      guard = start();
    } catch (error) {
      void startLater(error);
    }
  }

  function endGuard(): void {
    const ending = guard;
    guard = null;
    void ending?.stdin.end();
  }

  function everything(): GuardMessage[] {
    return [...tasks].flatMap(([key, task]): GuardMessage[] => [
      renewal(key, task),
      ...(task.isEnding ? [{ type: "ending", task: key } as const] : []),
      ...[...task.trees.values()].map((tree) => ({ type: "watch", task: key, tree }) as const),
    ]);
  }

  async function replace(): Promise<void> {
    if (closing.signal.aborted) return;
    const ended = guard;
    log.warn("the guard process of this runner has ended; restarting it");
    await pause(backoff.nextMs(), closing.signal);
    if (guard === ended) guard = null;
    if (!closing.signal.aborted && tasks.size > 0) ensureGuard();
  }

  async function startLater(error: unknown): Promise<void> {
    log.error(
      { error },
      "the guard process could not be started: scripts will not be ended if this runner hangs",
    );
    await pause(backoff.nextMs(), closing.signal);
    if (!closing.signal.aborted && tasks.size > 0) ensureGuard();
  }

  function send(message: GuardMessage): void {
    try {
      guard?.stdin.write(`${JSON.stringify(message)}\n`);
      guard?.stdin.flush();
    } catch {
      // The guard has just ended; the next one gets the whole list.
    }
  }

  function renewal(key: string, { provenAt, limits }: WatchedTask): GuardMessage {
    return {
      type: "renew",
      task: key,
      ageMs: steadyClock.now() - provenAt,
      termAfterMs: limits.giveUpAfterMs * (1 + guardDelay),
      killAfterMs: limits.giveUpAfterMs + lostGraceMs(limits),
    };
  }

  return {
    guard({ taskId, attempt, limits }) {
      const key = `${taskId}-${attempt}`;
      const task: WatchedTask = { provenAt: steadyClock.now(), limits, isEnding: false, trees: new Map() };
      tasks.set(key, task);
      ensureGuard();
      send(renewal(key, task));
      return {
        renewed(provenAt) {
          task.provenAt = provenAt;
          send(renewal(key, task));
        },
        ending() {
          task.isEnding = true;
          send({ type: "ending", task: key });
        },
        watch(tree) {
          task.trees.set(tree.leader, tree);
          send({ type: "watch", task: key, tree });
        },
        release(tree) {
          task.trees.delete(tree.leader);
          send({ type: "release", task: key, tree });
        },
        close() {
          tasks.delete(key);
          send({ type: "forget", task: key });
          if (tasks.size > 0 || closing.signal.aborted) return;
          idleTimer = setTimeout(endGuard, idleMs);
          idleTimer.unref();
        },
      };
    },
    close() {
      closing.abort();
      clearTimeout(idleTimer);
      endGuard();
    },
  };
}
