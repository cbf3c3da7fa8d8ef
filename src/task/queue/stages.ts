import { type StageName, stageNames } from "../../model/project.ts";
import type { StageState, TaskStage } from "../../model/task.ts";

/** Stages that change the world outside the workspace: after one has begun, nothing runs again by itself. */
export function isSideEffect(stage: string): stage is StageName {
  return stage === "deploy" || stage === "start";
}

export function hasSideEffects(stages: TaskStage[]): boolean {
  return stages.some(({ name, state }) => isSideEffect(name) && state !== "pending" && state !== "skipped");
}

/** Repeats change nothing: the first time that a state was told is the time it happened. */
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

/** When a task is over, a stage that was running ended with it, and one that never began never will. */
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

/** As before the first attempt. */
export function resetStages(stages: TaskStage[]): TaskStage[] {
  return stages
    .toSorted((a, b) => stageNames.indexOf(a.name) - stageNames.indexOf(b.name))
    .map((stage) =>
      stage.state === "skipped"
        ? stage
        : { name: stage.name, state: "pending", startedAt: null, finishedAt: null, exitCode: null },
    );
}
