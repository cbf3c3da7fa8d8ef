/** The stages of a pipeline in their order. */
export const stageNames = ["build", "deploy", "start"] as const;
export type StageName = (typeof stageNames)[number];

/** The parts of a task's log: its stages, and what happens around them. */
export const logStages = ["system", "checkout", ...stageNames] as const;

/** Stages with effects outside the workspace: after one has begun, nothing is repeated automatically. */
export function isSideEffect(stage: string): stage is Exclude<StageName, "build"> {
  return stage !== "build" && (stageNames as readonly string[]).includes(stage);
}

/** Whether the steps of a stage are shown below it: a single one with the name of the stage says no more than the stage. */
export function hasOwnSteps(stage: { name: string; steps: readonly { name: string }[] }): boolean {
  return stage.steps.some(({ name }) => name !== stage.name);
}

/** How people read which step it is: `build`, or `build/test` if the step has a name of its own. */
export function stepTitle(stage: string, step: string | null): string {
  return step === null || step === stage ? stage : `${stage}/${step}`;
}

export type AskedStages = { readonly [Name in StageName]?: boolean | undefined } & {
  readonly fromStage?: StageName | null | undefined;
};

/** Whether a task that asks for some stages runs this one. A missing boolean means true. */
export function isStageAsked(actions: AskedStages | null, name: StageName): boolean {
  const from = actions?.fromStage ? stageNames.indexOf(actions.fromStage) : 0;
  return stageNames.indexOf(name) >= from && actions?.[name] !== false;
}
