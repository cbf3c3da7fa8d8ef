import { requiresApproval } from "../../model/approval/deploy-rule.ts";
import type { TaskApproval } from "../../model/approval/task-approval.ts";
import type { Project } from "../../model/project.ts";
import { operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { isSideEffect } from "../queue/stages.ts";

/**
 * Whether a task must be built, and then approved, before it may deploy. It is asked when the task is handed out. A
 * rollback brings back what was deployed before, and must not wait.
 */
export function needsApproval(task: Task, project: Project): boolean {
  if (task.rollbackTo !== null) return false;
  const deploys = task.stages.some(({ name, state }) => isSideEffect(name) && state === "pending");
  return task.approval === null && deploys && requiresApproval(project.deploy, task.ref);
}

/** Pins what is built and approved. Null: the task is no longer with a runner. */
export const pinTask = operation("pinTask", async (keepers, id: number): Promise<Task | null> => {
  const task = await keepers.tasks.byId(id);
  const project = task && (await keepers.projects.byId(task.projectId));
  if (!task || !project) return null;
  if (!needsApproval(task, project)) return task;
  const { git, stages, env, image, deploy } = project;
  const approval: TaskApproval = {
    state: "building",
    notByPusher: deploy.notByPusher,
    expiresAfterMinutes: deploy.expiresAfterMinutes,
    requestedAt: null,
    expiresAt: null,
    by: null,
    at: null,
    comment: "",
    pinned: { git, stages, env, image },
  };
  return keepers.tasks.change(id, { whileIn: ["dispatched"], set: { approval } });
});

/** The task as its runner gets it: until it is approved, without the stages that deploy. */
export function withoutDeploy(task: Task): Task {
  if (task.approval?.state !== "building") return task;
  const stages = task.stages.map((stage) =>
    isSideEffect(stage.name) ? { ...stage, state: "skipped" as const } : stage,
  );
  return { ...task, stages };
}

/** What changes when the build of a task that needs an approval has succeeded. */
export function waitingSince(approval: TaskApproval, now: Date): Partial<Task> {
  const expiresAt = new Date(now.getTime() + approval.expiresAfterMinutes * 60_000);
  return {
    state: "waiting",
    reason: "waits for an approval",
    approval: {
      ...approval,
      state: "waiting",
      requestedAt: now.toISOString(),
      expiresAt: expiresAt.toISOString(),
    },
    leaseHash: null,
    leaseUntil: null,
    runnerId: null,
  };
}
