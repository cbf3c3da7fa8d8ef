import { messageOf } from "../../errors.ts";
import type { RunTask } from "../protocol.ts";
import { runStage } from "../stage/run-stage.ts";
import type { Workspaces } from "../workspace/workspace.ts";
import type { StagesEnd, StagesParts } from "./run-stages.ts";

type Previous = NonNullable<NonNullable<RunTask["release"]>["previous"]>;

export interface RollbackParts extends Omit<StagesParts, "workspace"> {
  workspaces: Workspaces;
}

/**
 * Restores the previous release after a failure: its deploy and start run again in its kept workspace, with its scripts
 * and environment and today's secrets. Tried once. A cancel does not stop it, because nothing would be serving then.
 */
export async function rollBack(
  instruction: RunTask,
  previous: Previous,
  { end, failedStage, isTouched, hasReplaced }: StagesEnd,
  parts: RollbackParts,
): Promise<void> {
  const { held, log } = parts;
  const { taskId: toTaskId } = previous;
  const hasDeployed = instruction.stages.some(({ name }) => name === "deploy");
  const start = instruction.stages.find(({ name }) => name === "start");
  const { isServing, hasEnded } = serviceState(previous, parts);
  // Of a daemon, or of a service that systemd runs, no process was ever recorded: that the runner sees none says nothing.
  const isDown = start !== undefined && hasEnded;
  // A cancel asks for no start either: what ended before this task stays as it was.
  const servesAsBefore = !isTouched && (end.state === "canceled" || !isDown);
  const hasFailedBeside = failedStage === "start" && start?.start?.previous === "stop-after-healthy";
  if (servesAsBefore || (hasFailedBeside && isServing && !hasDeployed && !hasReplaced)) {
    const what = isServing ? "is still serving" : "was left alone: no script of deploy or start has run";
    log.say("system", `[${nameOf(previous)} ${what}]`);
    await held.rollback({ toTaskId, state: "unneeded", reason: "" });
    return;
  }
  log.say("system", `[${end.reason}. Rolling back to ${nameOf(previous)}]`);
  if ((await held.rollback({ toTaskId, state: "running", reason: "" })) === null) return;
  const reason = await runPrevious(instruction, previous, parts).catch(messageOf);
  log.say(
    "system",
    reason === null ? `[${nameOf(previous)} is serving again]` : `[the rollback failed: ${reason}]`,
  );
  await held.rollback({
    toTaskId,
    state: reason === null ? "success" : "failed",
    reason: (reason ?? "").slice(0, 2000),
  });
}

/** What is known of the release's service. A record that cannot be read must not prevent the rollback. */
function serviceState({ taskId }: Previous, { services, log }: RollbackParts) {
  try {
    const isServing = services.living().some((service) => service.taskId === taskId);
    return { isServing, hasEnded: services.hasEnded(taskId) };
  } catch (error) {
    log.say("system", `[the recorded services could not be read: ${messageOf(error)}]`);
    return { isServing: false, hasEnded: false };
  }
}

/** Null: it serves. */
async function runPrevious(
  instruction: RunTask,
  previous: Previous,
  parts: RollbackParts,
): Promise<string | null> {
  const { taskId, attempt, ref, stages } = previous;
  const workspace = parts.workspaces.reopen(instruction.projectId, taskId, attempt);
  if (workspace === null) return `the workspace of task ${taskId} is gone from this runner`;
  const env = { ...previous.env, CI_ROLLBACK: "true" };
  const context = {
    ...parts,
    workspace,
    instruction: { ...instruction, taskId, attempt, ref, stages, env },
    checkedOut: previous,
    held: { ...parts.held, stopped: parts.held.lost },
    begun() {},
  };
  const { starting, started } = parts;
  for (const stage of stages) {
    const end = await runStage(stage, context, { replacing: async () => true, starting, started });
    if (end.state !== "success") return end.reason;
  }
  const waitingTasks = instruction.waitingTasks ?? [];
  // It serves, and is kept already: only its place among the releases is not recorded.
  await workspace
    .close({ isKept: true, keep: Number.POSITIVE_INFINITY, waitingTasks })
    .catch((error: unknown) =>
      parts.log.say("system", `[the runner could not record the rollback: ${messageOf(error)}]`),
    );
  return null;
}

function nameOf({ taskId, commit }: Previous): string {
  return `${commit.slice(0, 7)} (task ${taskId})`;
}
