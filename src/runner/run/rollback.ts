import { messageOf, thrownReason } from "../../errors.ts";
import { shortCommit } from "../../model/git/short-commit.ts";
import { type Reason, renderReason } from "../../reason/reason.ts";
import type { RestorableRelease, RunTask } from "../protocol.ts";
import { runStep } from "../stage/run-step.ts";
import { stepsOf } from "../stage/step.ts";
import { openStageFolders } from "../workspace/stage-folders.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import type { StagesEnd, StagesParts } from "./run-stages.ts";
import { sealRelease } from "./seal-release.ts";
import { startServices } from "./start-services.ts";

export interface RollbackParts
  extends Omit<StagesParts, "workspace" | "stages" | "leaveBuild" | "releaseFault"> {
  workspaces: Workspaces;
}

/**
 * Restores the previous release after a failure: its services, and those of its steps that the server names, run again in its
 * kept workspace, with its scripts and environment and today's secrets. Tried once. A cancel does not stop it, because
 * nothing would be serving then.
 */
export async function rollBack(
  instruction: RunTask,
  { end, isTouched, earlier }: StagesEnd,
  parts: RollbackParts,
): Promise<void> {
  const { held, log } = parts;
  const { previous } = instruction.release;
  if (previous === null) return;
  const { taskId: toTaskId } = previous;
  const hasServices = parts.services.serving(instruction.projectId)?.taskId === toTaskId;
  const isServing = hasServices && earlier !== "not restored" && stepsOf(previous.stages).length === 0;
  // The release that served last is down: the one before it comes back although this task has ended nothing.
  const isGone = previous.services.length > 0 && !hasServices && !parts.former.areAny();
  if ((!isTouched && !isGone) || isServing) {
    const what = hasServices ? "is still serving" : "was left alone: no script of deploy or start has run";
    const isBack = earlier === "restored";
    log.writeLine("system", `[${nameOf(previous)} ${isBack ? "is serving again" : what}]`);
    const state = isBack ? ({ state: "success", isProven: true } as const) : ({ state: "unneeded" } as const);
    await held.rollback({ toTaskId, reason: "", ...state });
    return;
  }
  log.writeLine("system", `[${renderReason(end.reason)}. Rolling back to ${nameOf(previous)}]`);
  if (previous.settings !== undefined) log.writeLine("system", `[${previous.settings}]`);
  if ((await held.rollback({ toTaskId, state: "running", reason: "" })) === null) return;
  const fault = await runPrevious(instruction, previous, parts).catch(thrownReason);
  if (fault !== null) {
    log.writeLine("system", `[the rollback failed: ${renderReason(fault)}]`);
    await held.rollback({ toTaskId, state: "failed", reason: fault });
    return;
  }
  const isProven =
    previous.services.length > 0 || stepsOf(previous.stages).some(({ check }) => check !== null);
  log.writeLine("system", `[${nameOf(previous)} ${isProven ? "is serving again" : "was put back"}]`);
  await held.rollback({ toTaskId, state: "success", reason: "", isProven });
}

/** Why it failed; null: it is back. */
async function runPrevious(
  instruction: RunTask,
  previous: RestorableRelease,
  parts: RollbackParts,
): Promise<Reason | null> {
  const { taskId, attempt, ref, stages, services } = previous;
  const workspace = await parts.workspaces.reopen(instruction.projectId, taskId, attempt);
  if (workspace === null) return `the workspace of task ${taskId} is gone from this runner`;
  const held = { ...parts.held, stopped: parts.held.lost };
  const writable = await sealRelease(instruction, {
    ...{ workspace, workspaces: parts.workspaces, user: parts.execution.user, held },
    linked: () => [],
    writeLine: (text) => parts.log.writeLine("system", text),
  });
  const env = { ...previous.env, CI_ROLLBACK: "true" };
  const context = {
    ...parts,
    workspace,
    stages: openStageFolders(workspace.folder, parts.execution.user),
    instruction: { ...instruction, taskId, attempt, ref, stages, services, env },
    checkedOut: previous,
    held,
    writable,
    begun() {},
    report: async () => true,
  };
  for (const step of stepsOf(stages)) {
    const end = await runStep(step, context);
    if (end.state !== "success") return end.reason;
  }
  const started = await startServices(services, context);
  if (started.state !== "success") return started.reason;
  const { waitingTasks } = instruction;
  // It serves, and is kept already: only its place among the releases is not recorded.
  await workspace
    .close({ state: "kept", keep: Number.POSITIVE_INFINITY, waitingTasks })
    .catch((error: unknown) =>
      parts.log.writeLine("system", `[the runner could not record the rollback: ${messageOf(error)}]`),
    );
  return null;
}

function nameOf({ taskId, commit }: RestorableRelease): string {
  return `${shortCommit(commit)} (task ${taskId})`;
}
