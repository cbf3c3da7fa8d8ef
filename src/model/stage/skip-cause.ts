import { type AskedStages, isStageAsked, type StageName } from "./stage-name.ts";

/** Why a stage or step was skipped. `left_out`: the task was not to run it. */
export type SkipCause = "no_script" | "not_reached" | "left_out";

interface SkippingTask {
  state: string;
  actions: AskedStages | null;
  rollbackTo: number | null;
  deploys: object | null;
  serviceAction: object | null;
  stages: readonly { name: StageName; startedAt: unknown; steps: readonly unknown[] }[];
}

/** Of a skipped stage, or of a skipped step in it. */
export function skipCauseOf(task: SkippingTask, stage: SkippingTask["stages"][number]): SkipCause {
  const { state, actions, rollbackTo, deploys, serviceAction, stages } = task;
  if (serviceAction !== null || !isStageAsked(actions, stage.name)) return "left_out";
  if (stage.startedAt !== null) return "not_reached";
  if (stage.steps.length > 0)
    return (rollbackTo !== null || deploys !== null) && stage.name === "build" ? "left_out" : "not_reached";
  // Tasks of version 1.0 have no steps, with a script or without.
  const isOfFirstVersion = stages.some(({ startedAt, steps }) => startedAt !== null && steps.length === 0);
  return isOfFirstVersion && state !== "success" ? "not_reached" : "no_script";
}
