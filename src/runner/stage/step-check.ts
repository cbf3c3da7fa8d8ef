import { pause } from "../../clock.ts";
import { ReasonError } from "../../errors.ts";
import type { ServiceCheck } from "../../model/service/service.ts";
import { newReason } from "../../reason/reason.ts";
import { survivorsText } from "../process/process-tree.ts";
import { checkOnce, describeCheck, fillCheck } from "./check.ts";
import {
  failed,
  type OpenStageContext,
  release,
  runCommand,
  type StageCommand,
  type StageEnd,
  stoppedEnd,
} from "./stage-script.ts";
import type { Step } from "./step.ts";

const betweenTriesMs = 250;
const tryTimeoutMs = 5000;

/** Repeats the check of a step whose script has succeeded until it passes, or its time is over. Null: it passed. */
export async function checkStep(
  step: Step,
  check: ServiceCheck,
  script: StageCommand,
  context: OpenStageContext,
): Promise<StageEnd | null> {
  const { held, log } = context;
  const filled = fillCheck(check, script.variables, null);
  log.writeLine(step, `[waiting for ${describeCheck(filled)}]`);
  const endsAt = performance.now() + check.within * 1000;
  for (;;) {
    const leftMs = Math.max(1, Math.min(tryTimeoutMs, endsAt - performance.now()));
    const found = await checkOnce(filled, leftMs, {
      // What the step has started is kept elsewhere: who listens is not known.
      foreignListener: () => null,
      async runCommand(text, timeoutMs) {
        const result = await runCommand(step, context, { ...script, command: ["sh", "-c", text], timeoutMs });
        release(result.tree, context);
        if (result.survivors.length > 0) throw new ReasonError(survivorsText("the check", result.survivors));
        return result.exitCode ?? 1;
      },
    });
    if (held.stopped.aborted) return stoppedEnd(step.title, held);
    if (found === null) return null;
    if (performance.now() + betweenTriesMs >= endsAt)
      return failed(
        newReason("health_failed", { check: describeCheck(filled), seconds: check.within, found }),
      );
    await pause(betweenTriesMs, held.stopped);
  }
}
