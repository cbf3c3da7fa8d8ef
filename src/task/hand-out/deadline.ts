import { atRollback, type NamedService, type Pipeline, runOf, type Step } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import { isSideEffect, type StageName, stageNames } from "../../model/stage/stage-name.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task, TaskStep } from "../../model/task.ts";
import { handedOutPipeline } from "../release/release-instruction.ts";
import { mustStop } from "../transitions.ts";
import { stepTimeoutMs, type TaskLimits } from "./instruction.ts";

/** The runner measures a stage's timeout; the server itself reports the timeout this much later. */
const timeoutSlackMs = 15_000;
/** Time for what a service must live without a check, and for SIGKILL of the one that it replaces. */
const endingMs = 60_000;
/** A task whose time is up is given up after this many leases: its runner lives, but does not end it. */
const givenUpAfterLeases = 5;

/** A task that has its commit may wait for other tasks of its runner. */
const placeWaitMs = 24 * 3_600_000;

/** What a runner has reached: a task may stay the same for `allowedMs` only. */
export function progressOf(task: Task): string {
  const { attempt, stages, rollback, fetchingSince } = task;
  const states = stages
    .flatMap((stage) => [stage, ...stage.steps])
    .map(({ name, state }) => `${name} ${state}`);
  return [attempt, mustStop(task), fetchingSince !== null, ...states, rollback?.state ?? ""].join(" ");
}

/** How long a task may stay as it is before its runner is told to stop. */
export async function allowedMs(
  keepers: Pick<Keepers, "releases">,
  task: Task,
  project: Project,
  limits: TaskLimits,
): Promise<number> {
  const graceMs = limits.stopGraceMs + timeoutSlackMs;
  if (task.rollback?.state === "running") {
    const pipeline = (await keepers.releases.ofTask(task.rollback.taskId))?.pipeline ?? project.pipeline;
    const run = stageNames.filter(isSideEffect).flatMap((name) => runOf(atRollback(pipeline), name));
    return run.reduce((sum, each) => sum + runMs(each, limits), graceMs);
  }
  if (mustStop(task)) return graceMs;
  if (task.serviceAction !== null) return limits.timeoutMs + graceMs;
  const running = task.stages.find(({ state }) => state === "running");
  if (waitsForPlace(task)) return placeWaitMs;
  // Before the first step this is the checkout, after the last one the removal of the workspace.
  if (!running) return limits.timeoutMs + graceMs;
  const pipeline = await handedOutPipeline(keepers, task, project);
  return runningMs(pipeline, running.name, running.steps, limits) + graceMs;
}

/** The commit is checked out, and no stage has begun. */
function waitsForPlace({ state, fetchingSince, stages }: Task): boolean {
  const hasBegun = stages.some((stage) => stage.state !== "pending" && stage.state !== "skipped");
  return state === "running" && fetchingSince === null && !hasBegun;
}

export function givenUpAfterMs({ leaseMs }: Pick<TaskLimits, "leaseMs">): number {
  return givenUpAfterLeases * leaseMs;
}

/** Of the step that runs. Runners of version 1.0 report stages alone, and each has one step. */
function runningMs(pipeline: Pipeline, stage: StageName, steps: TaskStep[], limits: TaskLimits): number {
  const name = steps.find(({ state }) => state === "running")?.name;
  const planned = runOf(pipeline, stage);
  const running = planned.find((each) => each.name === name) ?? planned[0];
  return running ? runMs(running, limits) : limits.timeoutMs;
}

/** The script or the start of a service, its check, the switch script, and the end of the service that it replaces. */
function runMs(run: Step | NamedService, limits: TaskLimits): number {
  const checkMs = (run.check?.within ?? 0) * 1000;
  if ("script" in run) return stepTimeoutMs(run, limits) + checkMs;
  return checkMs + (run.switch.trim() === "" ? 0 : limits.timeoutMs) + run.stopGrace * 1000 + endingMs;
}
