import { type StageName, stageNames } from "../../model/project.ts";
import type { StageState, TaskStage } from "../../model/task.ts";

/** Stages with effects outside the workspace: after one has begun, nothing is repeated automatically. */
export function isSideEffect(stage: string): stage is StageName {
  return stage === "deploy" || stage === "start";
}

export function hasSideEffects(stages: TaskStage[]): boolean {
  return stages.some(({ name, state }) => isSideEffect(name) && state !== "pending" && state !== "skipped");
}

/** The stages after a report of a runner. Repeats change nothing: the first report of a state determines its time. */
export function setStage(
  stages: TaskStage[],
  told: {
    stage: string;
    state: Exclude<StageState, "pending" | "skipped" | "lost">;
    exitCode: number | null;
  },
  now: Date,
): TaskStage[] {
  return stages.map((stage) => {
    if (stage.name !== told.stage || stage.state === told.state) return stage;
    if (told.state === "running") return { ...stage, state: "running", startedAt: now };
    return {
      ...stage,
      state: told.state,
      startedAt: stage.startedAt ?? now,
      finishedAt: now,
      exitCode: told.exitCode,
    };
  });
}

/** When a task ends, a running stage ends with it, and a stage that never began never will. */
export function endStages(
  stages: TaskStage[],
  state: Exclude<StageState, "pending" | "running" | "skipped">,
  now: Date,
): TaskStage[] {
  return stages.map((stage) => {
    if (stage.state === "running") return { ...stage, state, finishedAt: now };
    if (stage.state === "pending") return { ...stage, state: state === "canceled" ? "canceled" : "skipped" };
    return stage;
  });
}

/** The state before the first attempt. */
export function resetStages(stages: TaskStage[]): TaskStage[] {
  return stages
    .toSorted((a, b) => stageNames.indexOf(a.name) - stageNames.indexOf(b.name))
    .map((stage) =>
      stage.state === "skipped"
        ? stage
        : { name: stage.name, state: "pending", startedAt: null, finishedAt: null, exitCode: null },
    );
}
