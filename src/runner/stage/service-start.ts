import { closeSync, constants, openSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { shortCommit } from "../../model/git/short-commit.ts";
import { renderReason } from "../../reason/reason.ts";
import { findLeftProcesses } from "../process/left-processes.ts";
import type { RunResult } from "../process/process.ts";
import { endTree, sessionMembers, survivorsText } from "../process/process-tree.ts";
import { describeService, endService, type StartedService } from "../process/started-service.ts";
import { serviceLogName } from "../workspace/service-logs.ts";
import { fillCheck } from "./health-check.ts";
import { type OutputCapture, openCapture } from "./output-capture.ts";
import {
  endOf,
  failed,
  type OpenStageContext,
  openScript,
  release,
  runCommand,
  type StageContext,
  type StageEnd,
  stoppedEnd,
  withSurvivors,
  writeScript,
} from "./stage-script.ts";
import { type BeforeStart, lookBeforeStart, prove, proveAgain, type StartToProve } from "./start-proof.ts";
import type { Step } from "./step.ts";

/** A service that a start script has left running, and its output. */
export interface RunningService {
  service: StartedService;
  capture: OutputCapture;
}

export interface StartProgress {
  /** Reports to the server that the serving release is about to end. False: the task must not continue. */
  replacing(): Promise<boolean>;
  /** The service has passed its checks. The capture now belongs to the receiver. */
  started(running: RunningService): void;
  /** Its check has passed, or a process of it lives. `again` looks once more; null: that still holds. */
  proven(again: () => Promise<StageEnd | null>): void;
}

interface Start extends StartToProve {
  progress: StartProgress;
  port: number | null;
}

/** Runs the start script and proves that its service answers. */
export async function runStart(
  step: Step,
  context: OpenStageContext,
  progress: StartProgress,
): Promise<StageEnd> {
  const { start: rules } = step;
  if (rules === undefined) throw new Error("The step of start has no rules.");
  const port = rules.previous === "stop-after-healthy" ? await freePort() : null;
  const script = openScript(step, context, port === null ? {} : { PORT: String(port) });
  if ("state" in script) return script;
  const check = rules.healthCheck && fillCheck(rules.healthCheck, script.variables);
  const earlier = context.services.living();
  const start: Start = { step, context, progress, script, rules, check, port, earlier };
  if (rules.previous === "stop-first" && earlier.length > 0) {
    const unfit = await stopEarlier(start);
    if (unfit) return unfit;
  }
  const before = lookBeforeStart(check);
  const capture = captureOutput(start);
  const command = { ...script, outputFile: outputFileOf(context) };
  const result = await runCommand(step, context, command).catch((error: unknown) => {
    capture.close();
    throw error;
  });
  try {
    return await proveAndSettle(start, before, result, capture);
  } catch (error) {
    // Nobody would know of the service, so that no later start could end it.
    await endTree(result.tree, context.held.killAt);
    release(result.tree, context);
    capture.close();
    throw error;
  }
}

async function proveAndSettle(
  start: Start,
  before: BeforeStart,
  result: RunResult,
  capture: OutputCapture,
): Promise<StageEnd> {
  const { step, context, port, progress, check } = start;
  const left = findLeftProcesses(result.tree);
  if (result.hadLeftovers && result.isOutputHeld)
    context.log.writeLine(
      step,
      "[a process in the background still holds the log; redirect its output (>service.log 2>&1) or its next line may end it]",
    );
  const end = endOf(step, result, context);
  const proven = end.state === "success" ? await prove(start, before, left, capture) : null;
  const ready = proven ?? end;
  const again = () => proveAgain(start, before, left, capture);
  // The switch, and the end of the earlier services, take time.
  const replaced = async () => (await takeOver(start)) ?? (await again());
  const final = ready.state === "success" && port !== null ? ((await replaced()) ?? ready) : ready;
  const settled = await settle(start, result, final, capture);
  if (settled.state === "success" && (check || left.wereAny)) progress.proven(again);
  return settled;
}

/** Ends unwanted processes, and records continuing ones before the guard releases them. */
async function settle(
  { step, context, port, progress }: Start,
  result: RunResult,
  end: StageEnd,
  capture: OutputCapture,
): Promise<StageEnd> {
  const isTried = end.state === "success" || result.survivors.length > 0;
  const survivors = isTried ? result.survivors : await endTree(result.tree, context.held.killAt);
  const final = withSurvivors(step, end, survivors, context.log);
  const isRunning = final.state === "success" && sessionMembers(result.tree.leader).length > 0;
  const { taskId } = context.instruction;
  const { commit } = context.checkedOut;
  const service = describeService({ taskId, commit }, result.tree, port);
  if (isRunning) context.workspace.addService(service);
  release(result.tree, context);
  capture.leaveLog();
  if (isRunning) progress.started({ service, capture });
  else capture.close();
  return final;
}

/** Ends the services of earlier releases; daemons that left their session are not touched. */
async function stopEarlier({ step, context, progress, earlier }: Start): Promise<StageEnd | null> {
  if (!(await progress.replacing())) return stoppedEnd(step.title, context.held);
  for (const service of earlier) {
    if (context.held.stopped.aborted) return stoppedEnd(step.title, context.held);
    context.log.writeLine(step, `[ending ${nameOf(service)}]`);
    const survivors = await endService(service, context.instruction.limits.stopGraceMs);
    if (survivors.length > 0) return failed(survivorsText(nameOf(service), survivors));
  }
  return null;
}

/** The new service is healthy: the proxy is switched to it, and the earlier services end. */
async function takeOver(start: Start): Promise<StageEnd | null> {
  const { step, context, progress, script, rules, earlier } = start;
  const isSwitching = rules.switch.trim() !== "";
  if (earlier.length === 0 && !isSwitching) return null;
  if (!(await progress.replacing())) return stoppedEnd(step.title, context.held);
  if (isSwitching) {
    const command = writeScript("switch", rules.switch, context);
    const result = await runCommand(step, context, {
      ...script,
      ...{ command, mayLeaveProcesses: false },
    });
    release(result.tree, context);
    const end = endOf({ title: "the switch script", timeoutMs: step.timeoutMs }, result, context);
    if (end.state !== "success") return end;
  }
  for (const service of earlier) {
    context.log.writeLine(step, `[ending ${nameOf(service)}]`);
    const survivors = await endService(service, context.instruction.limits.stopGraceMs);
    if (survivors.length > 0)
      context.log.writeLine(step, `[${renderReason(survivorsText(nameOf(service), survivors))}]`);
  }
  return null;
}

function nameOf({ taskId, commit }: StartedService): string {
  return `the service of task ${taskId} (commit ${shortCommit(commit)})`;
}

/** A file, not a pipe: a service whose pipe is closed would end at its next line. */
function captureOutput({ step, context, script, rules }: Start): OutputCapture {
  const { workspace, log } = context;
  const output = outputFileOf(context);
  closeSync(openSync(output, constants.O_CREAT | constants.O_APPEND | constants.O_WRONLY, 0o600));
  const files = [{ path: output, inside: workspace.scripts }];
  if (rules.log) files.push({ path: resolve(script.cwd, rules.log), inside: workspace.source });
  return openCapture(files, () => log.stepOutput(step));
}

function outputFileOf({ workspace }: StageContext): string {
  return join(workspace.scripts, serviceLogName);
}

function freePort(): Promise<number> {
  const { promise, resolve: found, reject } = Promise.withResolvers<number>();
  const server = createServer();
  server.once("error", reject);
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    server.close(() => found(typeof address === "object" && address ? address.port : 0));
  });
  return promise;
}
