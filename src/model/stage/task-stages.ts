import { Fault } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import { runOf } from "../pipeline.ts";
import type { Project } from "../project.ts";
import type { StageState, TaskStage, TaskStep } from "../task.ts";
import type { Actions } from "./actions.ts";
import { isSideEffect, isStageAsked, type StageName, stageNames, stepTitle } from "./stage-name.ts";

export function hasSideEffects(stages: TaskStage[]): boolean {
  return stages.some(({ name, state }) => isSideEffect(name) && state !== "pending" && state !== "skipped");
}

type Reported = Exclude<StageState, "pending" | "skipped" | "lost">;

interface StageReport {
  stage: string;
  /** Absent: of a runner of version 1.0, whose stages have one step. */
  step?: string | undefined;
  state: Reported;
  exitCode: number | null;
}

/** The stages after a report of a runner. Repeats change nothing: the first report of a state determines its time. */
export function setStage(stages: TaskStage[], report: StageReport, now: Date): TaskStage[] {
  return stages.map((stage) => {
    if (stage.name !== report.stage) return stage;
    const isReported = ({ name }: TaskStep) => report.step === undefined || report.step === name;
    const steps = stage.steps.map((step) => (isReported(step) ? reported(step, report, now) : step));
    return { ...reported(stage, stateAfter(steps, report), now), steps };
  });
}

/** A stage has succeeded when all of its steps have: services start at the same time. */
function stateAfter(steps: TaskStep[], { state, exitCode }: StageReport): Omit<StageReport, "stage"> {
  const broken = steps.find(isBroken);
  if (broken) return { state: broken.state, exitCode: broken.exitCode };
  const isWhole = steps.every((step) => step.state === "success");
  return { state: state === "success" && !isWhole ? "running" : state, exitCode };
}

function isBroken(step: TaskStep): step is TaskStep & { state: "failed" | "canceled" | "timeout" } {
  return step.state === "failed" || step.state === "canceled" || step.state === "timeout";
}

function reported<S extends TaskStep>(
  held: S,
  { state, exitCode }: Omit<StageReport, "stage">,
  now: Date,
): S {
  if (held.state === state) return held;
  if (state === "running") return { ...held, state, startedAt: now };
  return { ...held, state, startedAt: held.startedAt ?? now, finishedAt: now, exitCode };
}

/** When a task ends, what runs ends with it, and what never began never will. */
export function endStages(
  stages: TaskStage[],
  state: Exclude<StageState, "pending" | "running" | "skipped">,
  now: Date,
): TaskStage[] {
  return stages.map((stage) => ({
    ...ended(stage, state, now),
    steps: stage.steps.map((step) => ended(step, state, now)),
  }));
}

function ended<S extends TaskStep>(held: S, state: StageState, now: Date): S {
  if (held.state === "running") return { ...held, state, finishedAt: now };
  if (held.state === "pending") return { ...held, state: state === "canceled" ? "canceled" : "skipped" };
  return held;
}

/** The state before the first attempt. */
export function resetStages(stages: TaskStage[]): TaskStage[] {
  return stages
    .toSorted((a, b) => stageNames.indexOf(a.name) - stageNames.indexOf(b.name))
    .map((stage) =>
      stage.state === "skipped"
        ? stage
        : plannedStage(
            stage.name,
            "pending",
            stage.steps.map(({ name }) => name),
          ),
    );
}

/** The step that runs, as people read it; null: none does. */
export function runningTitle(stages: TaskStage[]): string | null {
  const isRunning = ({ state }: TaskStep) => state === "running";
  const stage = stages.find(isRunning);
  return stage ? stepTitle(stage.name, stage.steps.find(isRunning)?.name ?? null) : null;
}

/** The project's stages as this task will run them; stages disabled by `actions` or without a script are skipped. */
export function stagesFor(
  { pipeline, pipelineFile = null }: Pick<Project, "pipeline"> & Partial<Pick<Project, "pipelineFile">>,
  actions: Actions | null,
): TaskStage[] {
  const isAsked = (name: StageName) => isStageAsked(actions, name);
  if (!stageNames.some(isAsked))
    throw new Fault("invalid", newReason("actions_empty"), {
      fields: [{ field: "actions", message: newReason("no_stage_left") }],
    });
  return stageNames.map((name) => {
    const steps = runOf(pipeline, name).map((each) => each.name);
    // What the file of the commit says is not known yet.
    const isPlanned = steps.length > 0 || pipelineFile !== null;
    return plannedStage(name, isAsked(name) && isPlanned ? "pending" : "skipped", steps);
  });
}

/** Whether the stages of one request include those of the other. */
export function coversStages(actions: Actions | null, others: Actions | null): boolean {
  return stageNames.every((name) => isStageAsked(actions, name) || !isStageAsked(others, name));
}

/** Planned stages, some of which are left out. */
export function withSkipped(stages: TaskStage[], isSkipped: (name: StageName) => boolean): TaskStage[] {
  return stages.map((stage) =>
    isSkipped(stage.name)
      ? plannedStage(
          stage.name,
          "skipped",
          stage.steps.map(({ name }) => name),
        )
      : stage,
  );
}

/** A stage before it is run. */
export function plannedStage(name: StageName, state: "pending" | "skipped", steps: string[]): TaskStage {
  const none = { state, startedAt: null, finishedAt: null, exitCode: null };
  return { name, ...none, steps: steps.map((step) => ({ name: step, ...none })) };
}

/** The stages with the steps that their runner was given: the project may have changed since the task was created. */
export function withHandedOut(
  stages: TaskStage[],
  handedOut: { name: string; steps: { name: string }[] }[],
): TaskStage[] {
  return stages.map((stage) => {
    const given = handedOut.find(({ name }) => name === stage.name);
    if (given === undefined || (stage.state !== "pending" && stage.state !== "skipped")) return stage;
    return plannedStage(
      stage.name,
      stage.state,
      given.steps.map(({ name }) => name),
    );
  });
}
