import { type Clock, pause } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import { randomToken } from "../secrets.ts";
import { buildBackoff } from "./backoff.ts";
import { openLifeline } from "./lifeline.ts";
import { type RunTask, runTask as runTaskInstruction } from "./protocol.ts";
import { runTask } from "./run-task.ts";
import { buildServerClient, type ServerAddress } from "./server-client.ts";
import { openWorkspaces, type WorkspacePolicy } from "./workspace.ts";

export interface RunnerOptions {
  /** Asked anew for each call. */
  address(): ServerAddress;
  labels: string[];
  concurrency: number;
  /** Folder of clones and workspaces. */
  root: string;
  workspacePolicy: WorkspacePolicy;
  stopGraceMs: number;
  version: string;
  env: Record<string, string | undefined>;
  clock: Clock;
  log: Log;
  /** An idle runner that no server answers for this long ends; null: it waits for ever. */
  endsAloneAfterMs: number | null;
  /** Aborted: takes no more work, finishes what it holds, ends. */
  drain: AbortSignal;
  /** Aborted: ends its tasks' processes and itself; the server decides about the tasks. */
  abandon: AbortSignal;
}

/** The execution side: asks for work, runs it, until it is drained. */
export async function runRunner(options: RunnerOptions): Promise<void> {
  const { log, drain } = options;
  const client = buildServerClient(options.address);
  const workspaces = openWorkspaces(options.root, options.workspacePolicy);
  const swept = await workspaces.sweep(options.stopGraceMs);
  if (swept > 0) log.warn({ swept }, "ended and removed what a killed runner had left");
  const lifeline = openLifeline();
  const running = new Map<number, Promise<void>>();
  const backoff = buildBackoff(100, 10_000);
  let aTaskEnded = Promise.withResolvers<void>();
  let answeredAt = options.clock.now();

  function start(instruction: RunTask): void {
    const { taskId, attempt } = instruction;
    log.info({ taskId, attempt, projectId: instruction.projectId }, "task begins");
    const done = runTask(instruction, {
      client,
      workspaces,
      lifeline,
      clock: options.clock,
      log,
      env: options.env,
      newMark: () => `${taskId}-${attempt}-${randomToken(12, "hex")}`,
      abandon: options.abandon,
    })
      .catch((error: unknown) => log.error({ taskId, error: messageOf(error) }, "a task broke off"))
      .finally(() => {
        running.delete(taskId);
        log.info({ taskId, attempt }, "task ended");
        aTaskEnded.resolve();
        aTaskEnded = Promise.withResolvers();
      });
    running.set(taskId, done);
  }

  while (!drain.aborted && !options.abandon.aborted) {
    if (running.size >= options.concurrency) {
      await Promise.race([aTaskEnded.promise, aborted(drain), aborted(options.abandon)]);
      continue;
    }
    try {
      const answer = await client.claim(
        {
          labels: options.labels,
          concurrency: options.concurrency,
          version: options.version,
          holding: [...running.keys()],
        },
        AbortSignal.any([drain, options.abandon]),
      );
      answeredAt = options.clock.now();
      if (answer !== null) start(readInstruction(answer));
      backoff.reset();
    } catch (error) {
      if (drain.aborted || options.abandon.aborted) break;
      if (error instanceof RefusedInstruction) log.error({ type: error.type }, error.message);
      else log.warn({ error: messageOf(error) }, "the server gives no work; trying again");
      if (running.size === 0 && options.clock.now() - answeredAt > (options.endsAloneAfterMs ?? Infinity)) {
        log.warn("no server has answered for long; a new one starts a new runner");
        break;
      }
      await pause(backoff.nextMs(), AbortSignal.any([drain, options.abandon]));
    }
  }
  if (running.size > 0) log.info({ running: running.size }, "taking no more work; finishing what is in hand");
  await Promise.all(running.values());
  lifeline.close();
}

class RefusedInstruction extends Error {
  override readonly name = "RefusedInstruction";
  readonly type: string;
  constructor(type: string, faults: string) {
    super(`refused an instruction that is not a well-formed run_task (${faults})`);
    this.type = type;
  }
}

/** `run_task` and nothing else: whatever the server may have become, it cannot make a runner do anything but that. */
function readInstruction(answer: unknown): RunTask {
  const read = runTaskInstruction.safeParse(answer);
  if (read.success) return read.data;
  const type =
    typeof answer === "object" && answer !== null && "type" in answer ? answer.type : typeof answer;
  const faults = read.error.issues.slice(0, 5).map((issue) => issue.path.join("."));
  throw new RefusedInstruction(String(type), faults.join(", "));
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}
