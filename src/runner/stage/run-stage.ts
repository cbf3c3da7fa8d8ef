import { chmodSync, chownSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { CheckedOut } from "../checkout/checkout.ts";
import type { LogStream } from "../log/log-stream.ts";
import type { TaskGuard } from "../process/lifeline.ts";
import { type RunResult, runProcess } from "../process/process.ts";
import { endTree, type ProcessTree, survivorsText } from "../process/process-tree.ts";
import type { RunTask, StageRequest } from "../protocol.ts";
import type { HeldTask } from "../server/held-task.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { CannotRun, type Execution, type PreparedScript } from "./execution.ts";
import { checkHealth, describeCheck, type HealthCheck } from "./health-check.ts";
import { taskVariables } from "./script-environment.ts";

export interface StageContext {
  instruction: RunTask;
  checkedOut: CheckedOut;
  workspace: Workspace;
  held: HeldTask;
  log: LogStream;
  guard: TaskGuard;
  execution: Execution;
  /** The project's clone, from which the checkout borrows objects. */
  clone: string;
  /** Folder of what survives tasks; null: the project keeps nothing. */
  caches: string | null;
  /** The runner's own environment. */
  env: Record<string, string | undefined>;
  newMark(): string;
}

type Stage = RunTask["stages"][number];

/** How a stage ended, and why, for people. */
export interface StageEnd {
  state: Exclude<StageRequest["state"], "running">;
  exitCode: number | null;
  reason: string;
}

/** Runs the script of one stage, and its health check. What it leaves in the background lives on only after `start`. */
export async function runStage(stage: Stage, context: StageContext): Promise<StageEnd> {
  const cwd = resolve(context.workspace.source, stage.directory);
  if (!`${cwd}/`.startsWith(`${context.workspace.source}/`) || !existsSync(cwd))
    return failed(`The folder ${stage.directory} of ${stage.name} does not exist in the repository.`);

  const file = writeScript(stage, context);
  let result: RunResult;
  try {
    result = await run(stage, context, {
      command: stage.script.startsWith("#!") ? [file] : ["sh", "-eu", file],
      cwd,
      timeoutMs: stage.timeoutMs,
      mayLeaveProcesses: stage.name === "start",
    });
  } catch (error) {
    if (error instanceof CannotRun) return failed(error.message);
    throw error;
  }
  const end = endOf(stage, result, context);
  sayLeftovers(stage, result, context.log);
  const ill =
    end.state === "success" && stage.healthCheck
      ? await checkStarted(stage, stage.healthCheck, context, cwd)
      : null;
  const checkedEnd = ill ?? end;
  const isTried = checkedEnd.state === "success" || result.survivors.length > 0;
  const survivors = isTried ? result.survivors : await endTree(result.tree, context.held.killAt);
  release(result.tree, context);
  return survivors.length === 0 ? checkedEnd : withSurvivors(stage, checkedEnd, survivors, context.log);
}

/** Nobody waits for what cannot be ended; a stage that leaves it behind has not succeeded. */
function withSurvivors(stage: Stage, end: StageEnd, survivors: number[], log: LogStream): StageEnd {
  const reason = survivorsText(stage.name, survivors);
  log.say(stage.name, `[${reason}]`);
  if (end.state === "success") return { ...end, state: "failed", reason };
  return { ...end, reason: `${end.reason}. ${reason}` };
}

interface Command {
  command: string[];
  cwd: string;
  timeoutMs: number;
  mayLeaveProcesses: boolean;
}

async function run(stage: Stage, context: StageContext, command: Command): Promise<RunResult> {
  const mark = context.newMark();
  const prepared = prepare(stage, context, command, mark);
  const output = context.log.stageOutput(stage.name);
  try {
    return await runProcess({
      ...command,
      ...prepared,
      onOutput: output.write,
      stop: context.held.stopped,
      killAt: context.held.killAt,
      mark,
      watch: (tree: ProcessTree) => {
        context.workspace.noteTree(tree);
        context.guard.watch(tree);
      },
    });
  } finally {
    output.end();
    if (prepared.container) rmSync(prepared.container.folder, { recursive: true, force: true });
  }
}

function writeScript({ name, script }: Stage, { workspace, execution }: StageContext): string {
  const file = join(workspace.scripts, name);
  writeFileSync(file, script.replaceAll("\r\n", "\n"), { mode: 0o700 });
  const user = execution.scriptUser;
  if (user !== null) {
    chownSync(file, 0, user.gid);
    chmodSync(file, 0o750);
  }
  return file;
}

function prepare(stage: Stage, context: StageContext, command: Command, mark: string): PreparedScript {
  const { instruction, clone, caches } = context;
  const { source, scripts } = context.workspace;
  return context.execution.prepare({
    stage,
    instruction,
    command: command.command,
    cwd: command.cwd,
    mark,
    folders: { source, scripts, clone, caches },
    own: context.env,
    variables: taskVariables(instruction, context.checkedOut, { stage: stage.name, workspace: source }),
    mustLeaveNothing: command.mayLeaveProcesses,
  });
}

function endOf(stage: Stage, result: RunResult, context: StageContext): StageEnd {
  const { exitCode } = result;
  if (result.end === "timeout")
    return {
      state: "timeout",
      exitCode,
      reason: `${stage.name} ran longer than ${stage.timeoutMs / 1000} s`,
    };
  if (result.end === "stopped") return { ...stoppedEnd(stage.name, context.held), exitCode };
  if (exitCode !== 0) {
    const why = result.tree.container ? containerFault(exitCode, context.instruction) : "";
    return { ...failed(`${stage.name} failed with exit code ${exitCode}${why}`), exitCode };
  }
  return { state: "success", exitCode, reason: "" };
}

/** Exit codes of `podman run` and `docker run` that are not the script's. */
function containerFault(exitCode: number | null, { resources }: RunTask): string {
  if (exitCode === 125) return ": the container could not be started; its log says why";
  if (exitCode === 127) return ": a command was not found; the image may lack it, or a shell";
  const memory = resources?.memoryBytes ?? null;
  if (exitCode !== 137 || memory === null) return "";
  return `: a process was killed, probably by the memory limit of ${Math.round(memory / 1024 ** 2)} MiB`;
}

/** The end of work that the server, or the end of the runner, has stopped. */
export function stoppedEnd(what: string, held: HeldTask): StageEnd {
  const why = held.why() ?? "lease_lost";
  if (why !== "timeout") return { state: "canceled", exitCode: null, reason: why };
  return { state: "timeout", exitCode: null, reason: `${what} ran longer than allowed` };
}

function release(tree: ProcessTree, { guard, workspace }: StageContext): void {
  guard.release(tree);
  workspace.forgetTree(tree);
}

function failed(reason: string): StageEnd {
  return { state: "failed", exitCode: null, reason };
}

function sayLeftovers(stage: Stage, result: RunResult, log: LogStream): void {
  if (!result.hadLeftovers) return;
  if (stage.name !== "start")
    log.say(stage.name, "[processes that the script left in the background were ended]");
  else if (result.isOutputHeld)
    log.say(
      stage.name,
      "[a process in the background still holds the log; redirect its output (>service.log 2>&1) or its next line may end it]",
    );
}

async function checkStarted(
  stage: Stage,
  check: HealthCheck,
  context: StageContext,
  cwd: string,
): Promise<StageEnd | null> {
  const { held, log } = context;
  log.say(stage.name, `[waiting for ${describeCheck(check)}]`);
  const found = await checkHealth(check, {
    stop: held.stopped,
    fetch,
    async runCommand(text, timeoutMs) {
      const command = ["sh", "-c", text];
      const result = await run(stage, context, { cwd, command, timeoutMs, mayLeaveProcesses: false });
      release(result.tree, context);
      if (result.survivors.length > 0) throw new Error(survivorsText("the check", result.survivors));
      return result.exitCode ?? 1;
    },
  });
  if (found === null) return null;
  if (held.stopped.aborted) return stoppedEnd(stage.name, held);
  return failed(
    `The health check of ${describeCheck(check)} did not pass within ${check.timeoutSeconds} s: ${found}`,
  );
}
