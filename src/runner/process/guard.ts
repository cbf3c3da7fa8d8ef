import { steadyClock } from "../../clock.ts";
import { endTree, type ProcessTree } from "./process-tree.ts";

/** Messages from the runner to its guard, one JSON value per line. */
export type GuardMessage =
  /** The server acknowledged the task `ageMs` ago; its scripts end at the given ages unless this is repeated. */
  | { type: "renew"; task: string; ageMs: number; termAfterMs: number; killAfterMs: number }
  /** The runner itself has sent SIGTERM; only the SIGKILL is left to the guard. */
  | { type: "ending"; task: string }
  | { type: "forget"; task: string }
  | { type: "watch"; task: string; tree: ProcessTree }
  | { type: "release"; task: string; tree: ProcessTree };

interface GuardedTask {
  trees: Map<number, ProcessTree>;
  termAt: number;
  killAt: number;
  isEnding: boolean;
}

/** For scripts of a runner that has ended. */
const orphanGraceMs = 2000;
/** After a deadline, waiting messages are read first: the guard itself may have been suspended. */
const recheckMs = 50;

/**
 * The guard process of a runner. It ends a task's scripts if the runner is gone (the pipe ends), or if the runner has
 * not renewed its lease for so long that the server is about to end the task. Only elapsed time counts.
 */
export async function runGuard(known: GuardMessage[], input: ReadableStream<Uint8Array>): Promise<void> {
  const tasks = new Map<string, GuardedTask>();
  const endings = new Set<Promise<unknown>>();

  function end(task: GuardedTask, tree: ProcessTree): void {
    const ending: Promise<unknown> = endTree(tree, () => task.killAt)
      // The next runner on this machine tries again.
      .catch(() => {})
      .finally(() => endings.delete(ending));
    endings.add(ending);
  }

  function endAll(task: GuardedTask): void {
    task.isEnding = true;
    for (const tree of task.trees.values()) end(task, tree);
  }

  /** While the runner ends a task itself, the guard waits until the task's SIGKILL is due. */
  function endOverdue(): void {
    const now = steadyClock.now();
    for (const task of tasks.values()) if (!task.isEnding && now >= task.termAt) endAll(task);
  }

  let timer: ReturnType<typeof setTimeout> | undefined;
  function schedule(): void {
    clearTimeout(timer);
    const next = Math.min(...[...tasks.values()].filter((task) => !task.isEnding).map((task) => task.termAt));
    if (next === Number.POSITIVE_INFINITY) return;
    const recheck = () => {
      timer = setTimeout(() => {
        endOverdue();
        schedule();
      }, recheckMs);
    };
    timer = setTimeout(recheck, Math.max(0, next - recheckMs - steadyClock.now()));
  }

  function receive(message: GuardMessage): void {
    const task = tasks.get(message.task);
    if (message.type === "renew") {
      // A task whose scripts were ended is not resumed: the runner drops it too.
      if (task?.isEnding) return;
      const provenAt = steadyClock.now() - message.ageMs;
      tasks.set(message.task, {
        trees: task?.trees ?? new Map(),
        termAt: provenAt + message.termAfterMs,
        killAt: provenAt + message.killAfterMs,
        isEnding: false,
      });
    } else if (message.type === "forget") tasks.delete(message.task);
    else if (task === undefined) return;
    else if (message.type === "ending") task.termAt = task.killAt;
    else if (message.type === "release") task.trees.delete(message.tree.leader);
    else {
      task.trees.set(message.tree.leader, message.tree);
      if (task.isEnding) end(task, message.tree);
    }
  }

  for (const message of known) receive(message);
  schedule();
  for await (const line of linesOf(input)) {
    receive(JSON.parse(line) as GuardMessage);
    schedule();
  }
  clearTimeout(timer);
  for (const task of tasks.values()) {
    task.killAt = Math.min(task.killAt, steadyClock.now() + orphanGraceMs);
    endAll(task);
  }
  await Promise.all(endings);
}

async function* linesOf(input: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of input) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
