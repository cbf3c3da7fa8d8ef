import { thrownReason } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import { CannotRun } from "./execution.ts";
import { runStart, type StartProgress } from "./service-start.ts";
import {
  endOf,
  failed,
  type OpenStageContext,
  openScript,
  release,
  runCommand,
  type StageContext,
  type StageEnd,
  withSurvivors,
} from "./stage-script.ts";
import type { Step } from "./step.ts";

/** Runs the script of one step. Background processes continue only after `start`. */
export async function runStep(step: Step, context: StageContext, progress: StartProgress): Promise<StageEnd> {
  try {
    const opened = { ...context, stageFolders: await context.stages.of(step.stage) };
    return step.stage === "start" ? await runStart(step, opened, progress) : await runToItsEnd(step, opened);
  } catch (error) {
    if (error instanceof CannotRun) return failed(error.message);
    // Such as a full disk. The step has failed, so that the previous release is restored.
    return failed(newReason("runner_failed", { message: thrownReason(error) }));
  }
}

async function runToItsEnd(step: Step, context: OpenStageContext): Promise<StageEnd> {
  const script = openScript(step, context);
  if ("state" in script) return script;
  const result = await runCommand(step, context, script);
  if (result.hadLeftovers)
    context.log.writeLine(step, "[processes that the script left in the background were ended]");
  release(result.tree, context);
  return withSurvivors(step, endOf(step, result, context), result.survivors, context.log);
}
