import { messageOf, thrownReason } from "../../errors.ts";
import { shortCommit } from "../../model/git/short-commit.ts";
import { type Reason, renderReason } from "../../reason/reason.ts";
import type { RestorableRelease, RunTask } from "../protocol.ts";
import { runStep } from "../stage/run-step.ts";
import type { StageEnd } from "../stage/stage-script.ts";
import { stepsOf } from "../stage/step.ts";
import { openStageFolders } from "../workspace/stage-folders.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import type { StagesEnd, StagesParts } from "./run-stages.ts";
import { sealRelease } from "./seal-release.ts";

export interface RollbackParts extends Omit<StagesParts, "workspace" | "stages" | "leaveBuild"> {
  workspaces: Workspaces;
  hasEndedByItself(releaseTaskId: number): boolean;
  /** The rollback has succeeded. */
  restored(): void;
}

/**
 * Restores the previous release after a failure: its deploy and start run again in its kept workspace, with its scripts
 * and environment and today's secrets. Tried once. A cancel does not stop it, because nothing would be serving then.
 */
export async function rollBack(
  instruction: RunTask,
  { end, failedStep, isTouched, hasReplaced }: StagesEnd,
  parts: RollbackParts,
): Promise<void> {
  const { held, log } = parts;
  const { previous: served, earlier = [], isDown: wasDown = false } = instruction.release;
  if (served === null) return;
  const hasEndedBefore = (release: RestorableRelease) =>
    parts.hasEndedByItself(release.taskId) || serviceState(release, parts).hasEnded;
  // A cancel before the first script asks for no start: a service that had ended stays ended.
  if (!isTouched && end.state === "canceled" && hasEndedBefore(served)) {
    log.writeLine("system", `[${nameOf(served)} has ended by itself and was left alone]`);
    return;
  }
  const previous = [served, ...earlier].find(({ taskId }) => !parts.hasEndedByItself(taskId));
  if (previous === undefined) {
    log.writeLine(
      "system",
      `[no rollback: ${nameOf(served)} has ended by itself, and no release before it is kept]`,
    );
    return;
  }
  const { taskId: toTaskId } = previous;
  const hasDeployed = instruction.stages.some(({ name }) => name === "deploy");
  const starts = instruction.stages.some(({ name }) => name === "start");
  const { isServing, hasEnded } = serviceState(previous, parts);
  // Of a daemon, or of a service that systemd runs, no process was ever recorded: that the runner sees none says nothing.
  const isDown = starts && (hasEnded || wasDown || previous !== served);
  const servesAsBefore = !isTouched && (end.state === "canceled" || !isDown);
  const hasFailedBeside = failedStep?.start?.previous === "stop-after-healthy";
  if (servesAsBefore || (hasFailedBeside && isServing && !hasDeployed && !hasReplaced)) {
    const what = isServing ? "is still serving" : "was left alone: no script of deploy or start has run";
    log.writeLine("system", `[${nameOf(previous)} ${what}]`);
    await held.rollback({ toTaskId, state: "unneeded", reason: "" });
    return;
  }
  log.writeLine("system", `[${renderReason(end.reason)}. Rolling back to ${nameOf(previous)}]`);
  if (previous.settings !== undefined) log.writeLine("system", `[${previous.settings}]`);
  if ((await held.rollback({ toTaskId, state: "running", reason: "" })) === null) return;
  const restored = await runPrevious(instruction, previous, parts).catch((error: unknown) => ({
    fault: thrownReason(error),
  }));
  if ("fault" in restored) {
    log.writeLine("system", `[the rollback failed: ${renderReason(restored.fault)}]`);
    await held.rollback({ toTaskId, state: "failed", reason: restored.fault });
    return;
  }
  parts.restored();
  const { isProven } = restored;
  log.writeLine("system", `[${nameOf(previous)} ${isProven ? "is serving again" : "was put back"}]`);
  await held.rollback({ toTaskId, state: "success", reason: "", isProven });
}

/** What is known of the release's service. A record that cannot be read must not prevent the rollback. */
function serviceState({ taskId }: RestorableRelease, { services, log }: RollbackParts) {
  try {
    const isServing = services.living().some((service) => service.taskId === taskId);
    return { isServing, hasEnded: services.hasEnded(taskId) };
  } catch (error) {
    log.writeLine("system", `[the recorded services could not be read: ${messageOf(error)}]`);
    return { isServing: false, hasEnded: false };
  }
}

/** Why it failed; or whether it is proven that the release serves, which still holds at the end. */
async function runPrevious(
  instruction: RunTask,
  previous: RestorableRelease,
  parts: RollbackParts,
): Promise<{ fault: Reason } | { isProven: boolean }> {
  const { taskId, attempt, ref, stages } = previous;
  const workspace = await parts.workspaces.reopen(instruction.projectId, taskId, attempt);
  if (workspace === null) return { fault: `the workspace of task ${taskId} is gone from this runner` };
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
    instruction: { ...instruction, taskId, attempt, ref, stages, env },
    checkedOut: previous,
    held,
    writable,
    begun() {},
  };
  const { started } = parts;
  const proofs: (() => Promise<StageEnd | null>)[] = [];
  const proven = (again: () => Promise<StageEnd | null>) => void proofs.push(again);
  parts.starting();
  for (const step of stepsOf(stages)) {
    const end = await runStep(step, context, { replacing: async () => true, started, proven });
    if (end.state !== "success") return { fault: end.reason };
  }
  const { waitingTasks } = instruction;
  // It serves, and is kept already: only its place among the releases is not recorded.
  await workspace
    .close({ state: "kept", keep: Number.POSITIVE_INFINITY, waitingTasks })
    .catch((error: unknown) =>
      parts.log.writeLine("system", `[the runner could not record the rollback: ${messageOf(error)}]`),
    );
  for (const again of proofs) {
    const unfit = await again();
    if (unfit !== null) return { fault: unfit.reason };
  }
  return { isProven: proofs.length > 0 };
}

function nameOf({ taskId, commit }: RestorableRelease): string {
  return `${shortCommit(commit)} (task ${taskId})`;
}
