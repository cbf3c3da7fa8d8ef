import type { CheckedOut } from "../checkout/checkout.ts";
import type { RunTask } from "../protocol.ts";
import type { HeldTask } from "../server/held-task.ts";
import { runStep } from "../stage/run-step.ts";
import type { RunningService } from "../stage/service-start.ts";
import { type StageContext, type StageEnd, stoppedEnd } from "../stage/stage-script.ts";
import { type Step, stepsOf } from "../stage/step.ts";
import type { ReleaseFolder } from "../workspace/release-folders.ts";

/** The result of a task's stages. */
export interface StagesEnd {
  end: StageEnd;
  /** The server may have recorded that deploy or start has begun. */
  isAnnounced: boolean;
  /** A script of deploy or start has run, or the previous service was ended. */
  isTouched: boolean;
  /** The step that did not succeed. */
  failedStep: Step | null;
  /** The previous service was ended or replaced. */
  hasReplaced: boolean;
}

export interface StagesParts
  extends Omit<StageContext, "begun" | "checkedOut" | "held" | "instruction" | "writable"> {
  held: HeldTask;
  /** Before a script that is not the build: the folders of the release that it may write to. */
  leaveBuild(): Promise<ReleaseFolder[]>;
  /** Deploy or start is about to run: from now on, earlier services of the project may be ended on purpose. */
  starting(): void;
  started(running: RunningService): void;
}

/** Whether work may continue after this report. */
export async function isGoing(held: HeldTask, said: Parameters<HeldTask["stage"]>[0]): Promise<boolean> {
  return (await held.stage(said))?.continue === true && !held.stopped.aborted && held.isCertain();
}

/** Runs the steps of the stages one after the other; each begins only after the server has acknowledged it. */
export async function runStages(
  instruction: RunTask,
  checkedOut: CheckedOut,
  parts: StagesParts,
): Promise<StagesEnd> {
  const { held } = parts;
  let isAnnounced = false;
  let isTouched = false;
  let hasReplaced = false;
  const ended = (end: StageEnd, failedStep: Step | null): StagesEnd => ({
    end,
    isAnnounced,
    isTouched,
    failedStep,
    hasReplaced,
  });
  for (const step of stepsOf(instruction.stages)) {
    const place = { stage: step.stage, step: step.name };
    const running = { ...place, state: "running", exitCode: null } as const;
    const isBuild = step.stage === "build";
    // Set also if the answer is a cancel: the server may have recorded an earlier call whose answer was lost.
    isAnnounced ||= !isBuild;
    if (!(await isGoing(held, running))) return ended(stoppedEnd(step.title, held), step);
    if (!isBuild) parts.starting();
    const begun = () => {
      isTouched ||= !isBuild;
    };
    const writable = isBuild ? [] : await parts.leaveBuild();
    const context = { ...parts, instruction, checkedOut, begun, writable };
    const end = await runStep(step, context, {
      async replacing() {
        hasReplaced = true;
        isTouched = true;
        return isGoing(held, { ...running, endsPrevious: true });
      },
      started: parts.started,
      proven() {},
    });
    const answer = await held.stage({ ...place, state: end.state, exitCode: end.exitCode });
    if (end.state !== "success") return ended(end, step);
    // The last step is done: a cancel now comes too late.
    if (answer === null) return ended(stoppedEnd(step.title, held), step);
  }
  return ended({ state: "success", exitCode: 0, reason: "" }, null);
}
