import type { Reason } from "../../reason/reason.ts";
import type { CheckedOut } from "../checkout/checkout.ts";
import type { RunTask } from "../protocol.ts";
import type { HeldTask } from "../server/held-task.ts";
import type { DeployEnd } from "../service/service-release.ts";
import { runStep } from "../stage/run-step.ts";
import { failed, type StageContext, type StageEnd, stoppedEnd } from "../stage/stage-script.ts";
import { type Step, stepsOf } from "../stage/step.ts";
import type { ReleaseFolder } from "../workspace/release-folders.ts";
import { type ServiceParts, startServices } from "./start-services.ts";

/** The result of a task's stages. */
export interface StagesEnd {
  end: StageEnd;
  /** The server may have recorded that deploy or start has begun. */
  isAnnounced: boolean;
  /** A script of deploy or start has run, or a service that served was ended. */
  isTouched: boolean;
  /** What has become of the services that served before. */
  earlier: DeployEnd["earlier"];
}

export interface StagesParts
  extends Omit<StageContext, "begun" | "checkedOut" | "held" | "instruction" | "writable">,
    ServiceParts {
  held: HeldTask;
  /** After the build, before anything else: why the release must not be deployed or kept; null: it may be. */
  releaseFault(): Promise<Reason | null>;
  /** Before a script that is not the build: the folders of the release that it may write to. */
  leaveBuild(): Promise<ReleaseFolder[]>;
}

/** Whether work may continue after this report. */
export async function isGoing(held: HeldTask, said: Parameters<HeldTask["stage"]>[0]): Promise<boolean> {
  return (await held.stage(said))?.continue === true && !held.stopped.aborted && held.isCertain();
}

/** New requests wait while the step runs. */
async function pauseRequests(
  step: Step,
  { services, instruction, log }: StageContext & ServiceParts,
): Promise<(() => Promise<void>) | null> {
  const resume = await services.pause(instruction.projectId);
  const text = resume === null ? "requests are not held: the proxy cannot" : "new requests wait";
  log.writeLine(step, `[${text}]`);
  return resume;
}

/**
 * Runs the steps of the stages one after the other, then starts the services. Each begins only after the server has
 * acknowledged it.
 */
export async function runStages(
  instruction: RunTask,
  checkedOut: CheckedOut,
  parts: StagesParts,
): Promise<StagesEnd> {
  const { held } = parts;
  let isAnnounced = false;
  let isTouched = false;
  const begun = () => {
    isTouched = true;
  };
  const ended = (end: StageEnd, earlier: StagesEnd["earlier"] = "untouched"): StagesEnd => ({
    end,
    isAnnounced,
    isTouched,
    earlier,
  });
  let isBuilt = false;
  /** Null: the work may go on. */
  const leaveBuild = async (): Promise<StagesEnd | null> => {
    if (isBuilt) return null;
    isBuilt = true;
    const fault = await parts.releaseFault();
    return fault === null ? null : ended(failed(fault));
  };
  for (const step of stepsOf(instruction.stages)) {
    const place = { stage: step.stage, step: step.name };
    const isBuild = step.stage === "build";
    const refused = isBuild ? null : await leaveBuild();
    if (refused !== null) return refused;
    // Set also if the answer is a cancel: the server may have recorded an earlier call whose answer was lost.
    isAnnounced ||= !isBuild;
    if (!(await isGoing(held, { ...place, state: "running", exitCode: null })))
      return ended(stoppedEnd(step.title, held));
    const writable = isBuild ? [] : await parts.leaveBuild();
    const context = { ...parts, instruction, checkedOut, begun: isBuild ? () => {} : begun, writable };
    const resume = step.pause ? await pauseRequests(step, context) : null;
    const end = await runStep(step, context).finally(() => resume?.());
    const answer = await held.stage({ ...place, state: end.state, exitCode: end.exitCode });
    if (end.state !== "success") return ended(end);
    // The last step is done: a cancel now comes too late.
    if (answer === null) return ended(stoppedEnd(step.title, held));
  }
  const refused = await leaveBuild();
  if (refused !== null) return refused;
  const { services } = instruction;
  if (services === null) return ended({ state: "success", exitCode: 0, reason: "" });
  isAnnounced ||= services.length > 0;
  const writable = await parts.leaveBuild();
  const report = (said: Parameters<HeldTask["stage"]>[0]) => isGoing(held, said);
  const context = { ...parts, instruction, checkedOut, begun, writable, report };
  const { earlier, ...end } = await startServices(services, context);
  return ended(end, earlier);
}
