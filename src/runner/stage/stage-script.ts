import { chmodSync, chownSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { newReason, type Reason, renderReason } from "../../reason/reason.ts";
import type { CheckedOut } from "../checkout/checkout.ts";
import { keepEnd } from "../log/kept-end.ts";
import type { LogStream } from "../log/log-stream.ts";
import { removeControlGroup } from "../process/control-group.ts";
import type { TaskGuard } from "../process/lifeline.ts";
import { type RunResult, runProcess } from "../process/process.ts";
import { type ProcessTree, survivorsText } from "../process/process-tree.ts";
import type { RunTask, StageRequest } from "../protocol.ts";
import type { HeldTask } from "../server/held-task.ts";
import { type ReleaseFolder, writableOf } from "../workspace/release-folders.ts";
import type { StageFolders, StageFoldersOfTask } from "../workspace/stage-folders.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { engineFault } from "./engine-fault.ts";
import type { Execution, PreparedScript } from "./execution.ts";
import { stageVariables } from "./script-environment.ts";
import type { Step } from "./step.ts";
import type { SecretFiles } from "./step-files.ts";

export interface StageContext {
  instruction: RunTask;
  checkedOut: CheckedOut;
  workspace: Workspace;
  held: Pick<HeldTask, "stopped" | "why" | "killAt">;
  log: LogStream;
  guard: TaskGuard;
  execution: Execution;
  stages: StageFoldersOfTask;
  /** The folders of the release that deploy and start may write to. */
  writable: ReleaseFolder[];
  /** Folder of the caches, for the build alone; null: the project has none. */
  caches: string | null;
  /** The runner's own environment. */
  env: Record<string, string | undefined>;
  newMark(): string;
  /** A script is about to run. */
  begun(): void;
}

/** What the scripts of one stage share. */
export interface OpenStageContext extends StageContext {
  stageFolders: StageFolders;
}

/** The result of a step, and its reason for people. */
export interface StageEnd {
  state: Exclude<StageRequest["state"], "running">;
  exitCode: number | null;
  reason: Reason;
}

/** A command of a step. */
export interface StageCommand {
  command: string[];
  cwd: string;
  /** Variables of the task: those of the project, secrets, CI_*. */
  variables: Record<string, string>;
  /** Secrets that it gets as files. */
  files: SecretFiles;
  timeoutMs: number;
}

/** The script of a step, ready to run; or why it cannot run. */
export function openScript(step: Step, context: StageContext): StageCommand | StageEnd {
  const { instruction, workspace, checkedOut } = context;
  const cwd = resolve(workspace.source, step.directory);
  if (!isFolderIn(workspace.source, cwd))
    return failed(newReason("folder_missing", { folder: step.directory, stage: step.title }));
  const place = { stage: step.stage, step: step.name, workspace: workspace.source };
  return {
    command: writeScript(`${step.stage}-${step.name}`, step.script, context),
    cwd,
    ...withoutFiles(stageVariables(instruction, checkedOut, place), instruction.files),
    timeoutMs: step.timeoutMs,
  };
}

function withoutFiles(
  all: Record<string, string>,
  names: string[],
): Pick<StageCommand, "variables" | "files"> {
  const isFile = ([name]: [string, string]) => names.includes(name);
  const entries = Object.entries(all);
  return {
    variables: Object.fromEntries(entries.filter((entry) => !isFile(entry))),
    files: Object.fromEntries(entries.filter(isFile)),
  };
}

/** A link of the repository may lead elsewhere. */
export function isFolderIn(source: string, folder: string): boolean {
  try {
    return (
      `${realpathSync(folder)}/`.startsWith(`${realpathSync(source)}/`) && statSync(folder).isDirectory()
    );
  } catch {
    return false;
  }
}

/** Writes a script into the workspace and returns the command that runs it. */
function writeScript(name: string, script: string, context: StageContext): string[] {
  const file = join(context.workspace.scripts, name);
  writeFileSync(file, script.replaceAll("\r\n", "\n"), { mode: 0o700 });
  const { user } = context.execution;
  if (user !== null) {
    chownSync(file, 0, user.gid);
    chmodSync(file, 0o750);
  }
  return script.startsWith("#!") ? [file] : ["sh", "-eu", file];
}

/** Enough for the message with which an engine ends. */
const engineOutputBytes = 8 * 1024;

export interface CommandResult extends RunResult {
  /** Why the command could not run, if that is known and its exit code does not say it. */
  fault?: Reason | null;
}

/** Runs a command of a step. The caller releases its processes. */
export async function runCommand(
  step: Step,
  context: OpenStageContext,
  command: StageCommand,
): Promise<CommandResult> {
  const mark = context.newMark();
  const prepared = prepare(step, context, command, mark);
  const output = context.log.stepOutput(step);
  const end = keepEnd(engineOutputBytes);
  try {
    const result = await runProcess({
      ...command,
      ...prepared,
      onOutput(bytes) {
        output.write(bytes);
        if (prepared.container || prepared.isSandbox) end.push(bytes);
      },
      ...(needsGroup(prepared) ? { group: mark } : {}),
      stop: context.held.stopped,
      killAt: context.held.killAt,
      watch: (tree: ProcessTree) => {
        context.workspace.noteTree(tree);
        context.guard.watch(tree);
        if (!context.held.stopped.aborted) context.begun();
      },
    });
    if (prepared.isSandbox && result.exitCode === 127) {
      const missing = context.execution.missingProgram(end.text(), context.env);
      if (missing !== null) return { ...result, fault: newReason("sandbox_program", { ...missing }) };
    }
    if (!prepared.container) return result;
    return { ...result, fault: engineFault(result.exitCode, end.text()) };
  } finally {
    output.end();
    const files = prepared.container?.folder ?? prepared.stepFiles;
    if (files !== undefined) rmSync(files, { recursive: true, force: true });
  }
}

/** The processes of a container or of a sandbox end with it. */
function needsGroup({ container, isSandbox, limits }: PreparedScript): boolean {
  return limits !== undefined || !(container || isSandbox);
}

function prepare(step: Step, context: OpenStageContext, command: StageCommand, mark: string): PreparedScript {
  const { instruction } = context;
  // What is deployed must not come from a folder that other tasks write to.
  const caches = step.stage === "build" ? context.caches : null;
  const { source, scripts } = context.workspace;
  const isReadOnly = step.stage !== "build" && instruction.folders.sealed;
  const writable = context.writable.map(writableOf);
  return context.execution.prepare({
    step,
    instruction,
    command: command.command,
    cwd: command.cwd,
    mark,
    folders: { source, isReadOnly, writable, scripts, caches, ...context.stageFolders },
    own: context.env,
    variables: command.variables,
    files: command.files,
  });
}

export function endOf(
  { title, timeoutMs }: { title: string; timeoutMs: number },
  result: CommandResult,
  context: Pick<StageContext, "held" | "instruction">,
): StageEnd {
  const { exitCode } = result;
  if (result.end === "timeout")
    return {
      state: "timeout",
      exitCode,
      reason: newReason("stage_timeout", { stage: title, seconds: timeoutMs / 1000 }),
    };
  if (result.end === "stopped") return { ...stoppedEnd(title, context.held), exitCode };
  if (exitCode !== 0) {
    const why = result.fault ?? (result.tree.container ? containerFault(exitCode, context.instruction) : "");
    const values = { stage: title, exitCode: String(exitCode) };
    const reason =
      why === "" ? newReason("stage_failed", values) : newReason("stage_failed_because", { ...values, why });
    return { ...failed(reason), exitCode };
  }
  return { state: "success", exitCode, reason: "" };
}

/** Exit codes of `podman run` and `docker run` that are not the script's. */
function containerFault(exitCode: number | null, { resources }: RunTask): Reason {
  if (exitCode === 125) return newReason("container_not_started");
  if (exitCode === 127) return newReason("command_not_found");
  const memory = resources.memoryBytes;
  if (exitCode !== 137 || memory === null) return "";
  return newReason("memory_limit", { limit: Math.round(memory / 1024 ** 2) });
}

/** The result of work that the server, or the end of the runner, has stopped. */
export function stoppedEnd(what: string, held: Pick<HeldTask, "why">): StageEnd {
  const why = held.why() ?? "lease_lost";
  if (why !== "timeout") return { state: "canceled", exitCode: null, reason: why };
  return { state: "timeout", exitCode: null, reason: newReason("stage_too_long", { stage: what }) };
}

/** Processes that cannot be ended are not waited for; a step that leaves them behind has failed. */
export function withSurvivors(step: Step, end: StageEnd, survivors: number[], log: LogStream): StageEnd {
  if (survivors.length === 0) return end;
  const reason = survivorsText(step.title, survivors);
  log.writeLine(step, `[${renderReason(reason)}]`);
  if (end.state === "success") return { ...end, state: "failed", reason };
  return { ...end, reason: newReason("and_left", { why: end.reason, left: reason }) };
}

/** The processes have ended. */
export function release(
  tree: ProcessTree,
  { guard, workspace }: Pick<StageContext, "guard" | "workspace">,
): void {
  guard.release(tree);
  workspace.forgetTree(tree);
  if (tree.group) removeControlGroup(tree.group);
}

export function failed(reason: Reason): StageEnd {
  return { state: "failed", exitCode: null, reason };
}
