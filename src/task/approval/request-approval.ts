import { requiresApproval } from "../../model/approval/deploy-rule.ts";
import type { TaskApproval } from "../../model/approval/task-approval.ts";
import { needsContainer } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { isSideEffect } from "../../model/stage/stage-name.ts";
import { resetStages } from "../../model/stage/task-stages.ts";
import { type OperationKeepers, operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { inOrder, newReason } from "../../reason/reason.ts";
import { reportTask } from "../notify/report-task.ts";
import { secretNamesOf, withGroupVariables } from "../view/inherited-values.ts";
import { appendSystemLine, type DecidedTask } from "../view/system-line.ts";
import { askedForSecrets } from "./added-secrets.ts";
import { waitingSince, withoutAnswer } from "./waiting-since.ts";

/** Whether a task must be built, and then approved, before it may deploy. It is decided when the task is handed out. */
export function needsApproval(task: Task, project: Project): boolean {
  // An action with services changes nothing that was approved, and neither does a move.
  const deploys =
    task.serviceAction === null &&
    task.move === null &&
    task.stages.some(({ name, state }) => isSideEffect(name) && state === "pending");
  return task.approval === null && deploys && requiresApproval(project.deploy, task);
}

/** Whether another runner has the approved workspace. */
export function isBuiltElsewhere({ approval, runnerId }: Task): boolean {
  return approval?.state === "approved" && approval.built?.runnerId !== runnerId;
}

/**
 * Decides what a task that was just handed out may do: deploy, or only build for now. Null: it is no longer with a
 * runner.
 */
export const prepareApproval = operation(
  "prepareApproval",
  async (keepers, { id, consoleUrl }: { id: number; consoleUrl: string }): Promise<DecidedTask | null> => {
    const task = await keepers.tasks.byId(id);
    const project = task && (await keepers.projects.byId(task.projectId));
    if (!task || !project) return null;
    if (task.approval !== null && isBuiltElsewhere(task)) {
      const gone = newReason("approval_runner_gone");
      const reason = inOrder(gone, askedAgain);
      // The current attempt is the first one of the new build.
      const approval = { ...task.approval, earlierAttempts: task.attempt - 1 };
      return decided(keepers, task, consoleUrl, { ...builtAgain(task, approval, keepers.now()), reason });
    }
    const asked = task.approval?.state === "approved" ? await askedForSecrets(keepers, task) : null;
    if (asked !== null) return decided(keepers, task, consoleUrl, asked);
    if (!needsApproval(task, project)) return { task, line: null, calls: [] };
    const back = task.rollbackTo === null ? null : await keepers.releases.ofTask(task.rollbackTo);
    // A change of the project or its group is stored with its entry, so no entry up to the newest one is of a later change.
    if (project.parentId !== null) await keepers.projects.hold(project.parentId);
    const held = (await keepers.projects.hold(project.id)) ?? project;
    if (held.groupId !== null) await keepers.groups.hold(held.groupId);
    const approval = {
      ...requestFor(
        withTaskPipeline(await withGroupVariables(keepers, held), task),
        back,
        await secretNamesOf(keepers, held),
      ),
      auditId: await keepers.audit.lastId(),
    };
    const isKept = back?.state === "kept" && back.runnerId === task.runnerId;
    if (!isKept) return decided(keepers, task, consoleUrl, { approval });
    // A kept release needs no build: its approval is requested at once.
    const { taskId, attempt, runnerId } = back;
    return decided(
      keepers,
      task,
      consoleUrl,
      waitingSince(
        { ...approval, built: { taskId, attempt, runnerId }, earlierAttempts: task.attempt },
        keepers.now(),
      ),
    );
  },
);

/** Writes the reason to the log, if there is one. */
async function decided(
  keepers: OperationKeepers,
  { id }: Task,
  consoleUrl: string,
  set: Partial<Task>,
): Promise<DecidedTask | null> {
  const task = await keepers.tasks.change(id, { whileIn: ["dispatched"], set });
  if (!task) return null;
  const line = set.reason === undefined ? null : await appendSystemLine(keepers, task, keepers.now());
  const calls =
    task.state === "waiting" ? await reportTask(keepers, "approval.requested", task, consoleUrl) : [];
  return { task, line, calls };
}

/** A promotion deploys the pipeline of its release. */
function withTaskPipeline(project: Project, { pipeline }: Task): Project {
  return pipeline === null ? project : { ...project, pipeline };
}

/** Pins what will be deployed. A rollback runs the scripts and the environment of its release. */
function requestFor(
  { name, git, image, isolation, limits, deploy, ...project }: Project,
  back: Release | null,
  secretNames: string[],
): TaskApproval {
  const { pipeline, env } = back ?? project;
  return {
    state: "building",
    notByPusher: deploy.notByPusher,
    expiresAfterMinutes: deploy.expiresAfterMinutes,
    requestedAt: null,
    expiresAt: null,
    by: null,
    at: null,
    comment: "",
    pinned: {
      ...{ name, git, pipeline, env, image, isolation, limits },
      needsContainer: needsContainer(image, pipeline),
    },
    secretNames,
    built: null,
  };
}

export const askedAgain = newReason("approval_again");

/** What changes when the approved workspace is lost. The pinned values stay: they are what the first request was about. */
export function builtAgain(task: Task, approval: TaskApproval, now: Date): Partial<Task> {
  return {
    approval: { ...withoutAnswer(task, approval, now), state: "building", built: null },
    stages: resetStages(task.stages),
  };
}

/** The step of the task that its runner is given; null: it needs no approval. */
export function stepOf({ approval }: Task): "build" | "deploy" | null {
  if (approval?.state === "building") return "build";
  return approval?.state === "approved" ? "deploy" : null;
}
