import { stepTitle } from "../../model/stage/stage-name.ts";
import type { WireStage } from "../protocol.ts";

/** A step of a stage. */
export type Step = WireStage["steps"][number] & {
  stage: WireStage["name"];
  /** How messages name it: `build`, or `build/test`. */
  title: string;
};

export function stepsOf(stages: WireStage[]): Step[] {
  return stages.flatMap(({ name: stage, steps }) =>
    steps.map((step) => ({ ...step, stage, title: stepTitle(stage, step.name) })),
  );
}
