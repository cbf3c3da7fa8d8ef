import { thrownReason } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import { CannotRun } from "./execution.ts";
import { runStart, type StartProgress } from "./service-start.ts";
import {
  endOf,
  failed,
  openScript,
  release,
  runCommand,
  type Stage,
  type StageContext,
  type StageEnd,
  withSurvivors,
} from "./stage-script.ts";

/** Runs the script of one stage. Background processes continue only after `start`. */
export async function runStage(
  stage: Stage,
  context: StageContext,
  progress: StartProgress,
): Promise<StageEnd> {
  try {
    return stage.name === "start"
      ? await runStart(stage, context, progress)
      : await runToItsEnd(stage, context);
  } catch (error) {
    if (error instanceof CannotRun) return failed(error.message);
    // Such as a full disk. The stage has failed, so that the previous release is restored.
    return failed(newReason("runner_failed", { message: thrownReason(error) }));
  }
}

async function runToItsEnd(stage: Stage, context: StageContext): Promise<StageEnd> {
  const script = openScript(stage, context);
  if ("state" in script) return script;
  const result = await runCommand(stage, context, script);
  if (result.hadLeftovers)
    context.log.writeLine(stage.name, "[processes that the script left in the background were ended]");
  release(result.tree, context);
  return withSurvivors(stage, endOf(stage, result, context), result.survivors, context.log);
}
