import { defaultSettleSeconds, type Project, type StageName, type Stages } from "../../model/project.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { handedOutStages } from "../release/release-instruction.ts";
import { stageTimeoutMs, type TaskLimits } from "./instruction.ts";
import { mustStop } from "./lease.ts";

/** The runner measures a stage's timeout; the server itself reports the timeout this much later. */
const timeoutSlackMs = 15_000;
/** Time for SIGTERM and SIGKILL of a previous service. */
const endingMs = 60_000;
/** A task whose time is up is given up after this many leases: its runner lives, but does not end it. */
const givenUpAfterLeases = 5;

/** What a runner has reached: a task may stay the same for `allowedMs` only. */
export function progressOf(task: Task): string {
  const { attempt, stages, rollback } = task;
  const states = stages.map(({ name, state }) => `${name} ${state}`);
  return [attempt, mustStop(task), ...states, rollback?.state ?? ""].join(" ");
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
    const stages = (await keepers.releases.ofTask(task.rollback.taskId))?.stages ?? project.stages;
    return stageMs(stages, "deploy", limits) + stageMs(stages, "start", limits) + graceMs;
  }
  if (mustStop(task)) return graceMs;
  const running = task.stages.find(({ state }) => state === "running");
  // Before the first stage this is the checkout, after the last one the removal of the workspace.
  if (!running) return limits.timeoutMs + graceMs;
  return stageMs(await handedOutStages(keepers, task, project), running.name, limits) + graceMs;
}

export function givenUpAfterMs({ leaseMs }: Pick<TaskLimits, "leaseMs">): number {
  return givenUpAfterLeases * leaseMs;
}

/** The script, and what follows that of a start: the check or the settling, the switch script, the end of the previous service. */
function stageMs(stages: Stages, name: StageName, limits: TaskLimits): number {
  const scriptMs = stageTimeoutMs(stages, name, limits);
  if (name !== "start") return scriptMs;
  const { start } = stages;
  const seconds = start.healthCheck?.timeoutSeconds ?? start.settleSeconds ?? defaultSettleSeconds;
  return scriptMs + seconds * 1000 + (start.switch ? scriptMs : 0) + endingMs;
}
