import { type Clock, steadyClock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { type CheckedOut, CheckoutError, checkout } from "../checkout/checkout.ts";
import { openGitEnvironment } from "../checkout/git-environment.ts";
import { buildLogStream, type LogStream } from "../log/log-stream.ts";
import { maskText } from "../log/masker.ts";
import type { Lifeline, TaskGuard } from "../process/lifeline.ts";
import { runProcess } from "../process/process.ts";
import { survivorsText } from "../process/process-tree.ts";
import type { RunTask } from "../protocol.ts";
import { type HeldTask, holdTask } from "../server/held-task.ts";
import type { ServerClient } from "../server/server-client.ts";
import type { Execution } from "../stage/execution.ts";
import { runStage, type StageEnd, stoppedEnd } from "../stage/run-stage.ts";
import { giveTo, letEnter } from "../stage/script-user.ts";
import { openCacheFolders } from "../workspace/cache-folders.ts";
import type { Workspace, Workspaces } from "../workspace/workspace.ts";

export interface RunTaskParts {
  client: ServerClient;
  workspaces: Workspaces;
  lifeline: Lifeline;
  execution: Execution;
  /** Largest cache of one project. */
  cacheMaxBytes: number;
  clock: Clock;
  log: Log;
  /** The runner's own environment. */
  env: Record<string, string | undefined>;
  newMark(): string;
  /** Aborted: the runner must end now; its tasks are left to the server's decision. */
  abandon: AbortSignal;
}

/** The one instruction: checkout, then each stage, each begun only after the server has acknowledged it. */
export async function runTask(instruction: RunTask, parts: RunTaskParts): Promise<void> {
  const guard = parts.lifeline.guard(instruction);
  const held = holdTask(instruction, { client: parts.client, clock: steadyClock, log: parts.log, guard });
  const abandon = () => held.stop("runner_stopped");
  parts.abandon.addEventListener("abort", abandon, { once: true });
  const secrets = secretsOf(instruction);
  const log = buildLogStream({
    clock: parts.clock,
    from: instruction.logFrom,
    secrets,
    maxBytes: instruction.limits.logMaxBytes,
    usedBytes: instruction.limits.logBytesUsed,
    async send(from, lines) {
      return (await held.log({ from, lines }))?.ack ?? null;
    },
  });
  let workspace: Workspace | null = null;
  let end: StageEnd = { state: "failed", exitCode: null, reason: "" };
  try {
    workspace = await parts.workspaces.open(instruction.projectId, instruction.taskId, instruction.attempt);
    const user = parts.execution.scriptUser;
    if (user !== null) letEnter(user, parts.workspaces.root, workspace.scripts);
    end = await work(instruction, { ...parts, held, guard, stream: log, workspace });
  } catch (error) {
    parts.log.error({ taskId: instruction.taskId, error }, "a task failed in the runner");
    end = { state: "failed", exitCode: null, reason: `The runner failed: ${messageOf(error)}` };
  } finally {
    held.settle();
    if (end.reason && end.state !== "canceled") log.say("system", end.reason);
    // The workspace first: when the result is known, nothing of the task is left.
    await workspace?.close(end.state === "success").catch((error: unknown) => {
      parts.log.error({ error: messageOf(error) }, "a workspace was not removed");
    });
    await log.flushed();
    await held.finish({ state: end.state, reason: maskText(secrets, end.reason).slice(0, 2000) });
    held.close();
    guard.close();
    parts.abandon.removeEventListener("abort", abandon);
  }
}

function secretsOf(instruction: RunTask): string[] {
  const { credential } = instruction.repo;
  const ofCredential =
    credential?.type === "token" ? [credential.token] : credential ? [credential.privateKey] : [];
  return [...Object.values(instruction.secrets), ...ofCredential];
}

/** Enough for whatever git has to say; a host may send it more. */
const gitOutputMaxBytes = 256 * 1024;

interface Work extends RunTaskParts {
  held: HeldTask;
  guard: TaskGuard;
  stream: LogStream;
  workspace: Workspace;
}

/** Tells the server, and answers whether the task goes on. */
async function isGoing(held: HeldTask, said: Parameters<HeldTask["stage"]>[0]): Promise<boolean> {
  return (await held.stage(said))?.continue === true && !held.stopped.aborted && held.isCertain();
}

async function work(instruction: RunTask, parts: Work): Promise<StageEnd> {
  const { held } = parts;
  if (!(await isGoing(held, { stage: "checkout", state: "running", exitCode: null })))
    return stoppedEnd("checkout", held);
  const checkedOut = await checkOut(instruction, parts);
  if ("state" in checkedOut) {
    await held.stage({ stage: "checkout", state: checkedOut.state, exitCode: null });
    return checkedOut;
  }
  const commit = { commit: checkedOut.commit, message: checkedOut.message.slice(0, 10_000) };
  if (!(await isGoing(held, { stage: "checkout", state: "success", exitCode: 0, ...commit })))
    return stoppedEnd("checkout", held);

  const { scriptUser } = parts.execution;
  if (scriptUser !== null) await giveTo(scriptUser, parts.workspace.source);
  const cachePaths = instruction.cache ?? [];
  const cache = openCacheFolders(parts.workspaces.root, instruction, scriptUser);
  if (cachePaths.length > 0)
    for (const line of cache.link(parts.workspace.source, cachePaths)) parts.stream.say("checkout", line);
  try {
    return await runStages(instruction, parts, checkedOut, cachePaths.length > 0 ? cache.folder : null);
  } finally {
    const emptied = cachePaths.length > 0 ? await cache.limit(parts.cacheMaxBytes) : null;
    if (emptied !== null) parts.stream.say("system", emptied);
  }
}

async function runStages(
  instruction: RunTask,
  parts: Work,
  checkedOut: CheckedOut,
  caches: string | null,
): Promise<StageEnd> {
  const { held } = parts;
  const clone = parts.workspaces.cacheOf(instruction.projectId);
  if (instruction.stages.length === 0)
    parts.stream.say("system", "No stage has a script to run: the commit was checked out, and that is all.");
  for (const stage of instruction.stages) {
    if (!(await isGoing(held, { stage: stage.name, state: "running", exitCode: null })))
      return stoppedEnd(stage.name, held);
    const context = { ...parts, instruction, checkedOut, log: parts.stream, clone, caches };
    const end = await runStage(stage, context);
    const answer = await held.stage({ stage: stage.name, state: end.state, exitCode: end.exitCode });
    if (end.state !== "success") return end;
    // The last stage is done: a cancel that comes now is too late to be true.
    if (answer === null) return stoppedEnd(stage.name, held);
  }
  return { state: "success", exitCode: 0, reason: "" };
}

/** The folder with the commit in it, or how it ended. */
async function checkOut(instruction: RunTask, parts: Work): Promise<CheckedOut | StageEnd> {
  const { held, stream, workspace, workspaces, guard } = parts;
  const { limits, repo } = instruction;
  const environment = openGitEnvironment(repo, workspaces, parts.env);
  const endsAt = performance.now() + limits.checkoutTimeoutMs;
  let state: "failed" | "timeout" = "failed";
  try {
    return await checkout({
      repo,
      ref: instruction.ref,
      commit: instruction.commit,
      cache: workspaces.cacheOf(instruction.projectId),
      target: workspace.source,
      say: (text) => stream.say("checkout", text),
      async git(args) {
        const output = keepEnd(gitOutputMaxBytes);
        const result = await runProcess({
          command: ["git", ...args],
          cwd: workspace.scripts,
          env: environment.env,
          onOutput: output.push,
          stop: held.stopped,
          timeoutMs: Math.max(1, endsAt - performance.now()),
          killAt: held.killAt,
          mayLeaveProcesses: false,
          mark: parts.newMark(),
          watch: guard.watch,
        });
        guard.release(result.tree);
        if (result.survivors.length > 0) stream.say("checkout", survivorsText("git", result.survivors));
        if (result.end === "timeout") {
          state = "timeout";
          throw new CheckoutError(`git did not finish within ${limits.checkoutTimeoutMs / 1000} s`);
        }
        return { exitCode: result.exitCode ?? 1, output: output.text() };
      },
    });
  } catch (error) {
    if (held.stopped.aborted) return stoppedEnd("checkout", held);
    if (!(error instanceof CheckoutError)) throw error;
    for (const line of error.details) stream.say("checkout", line);
    return { state, exitCode: null, reason: error.message };
  } finally {
    environment.remove();
  }
}

/** Collects bytes of which only the last `maxBytes` are kept. */
function keepEnd(maxBytes: number): { push(bytes: Uint8Array): void; text(): string } {
  let kept = Buffer.alloc(0);
  return {
    push(bytes) {
      kept = Buffer.concat([kept, bytes]).subarray(-maxBytes);
    },
    text: () => kept.toString("utf8"),
  };
}
