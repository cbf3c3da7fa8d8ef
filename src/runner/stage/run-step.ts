import { thrownReason } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import { CannotRun } from "./cannot-run.ts";
import {
  endOf,
  failed,
  openScript,
  release,
  runCommand,
  type StageContext,
  type StageEnd,
  withSurvivors,
} from "./stage-script.ts";
import type { Step } from "./step.ts";
import { checkStep } from "./step-check.ts";

/** Runs the script of one step to its end. */
export async function runStep(step: Step, context: StageContext): Promise<StageEnd> {
  try {
    const opened = { ...context, stageFolders: await context.stages.of(step.stage) };
    const script = openScript(step, opened);
    if ("state" in script) return script;
    const result = await runCommand(step, opened, script);
    if (result.hadLeftovers)
      context.log.writeLine(step, "[processes that the script left in the background were ended]");
    release(result.tree, opened);
    const end = withSurvivors(step, endOf(step, result, opened), result.survivors, context.log);
    if (end.state !== "success" || step.check === null) return end;
    return (await checkStep(step, step.check, script, opened)) ?? end;
  } catch (error) {
    if (error instanceof CannotRun) return failed(error.message);
    // Such as a full disk. The step has failed, so that the previous release is restored.
    return failed(newReason("runner_failed", { message: thrownReason(error) }));
  }
}
