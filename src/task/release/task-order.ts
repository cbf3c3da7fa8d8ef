import type { Project } from "../../model/project.ts";
import { stagesFor } from "../../model/stage/task-stages.ts";
import type { NewTask, TaskStage } from "../../model/task.ts";

/** The data of a new task. Webhook tasks and manual ones differ only in these values. */
export interface TaskOrder
  extends Omit<NewTask, "projectId" | "stages" | "priority" | "createdAt" | "rollbackTo"> {
  project: Project;
  /** The release to roll back to, by the task that built it. */
  rollbackTo?: number | null;
  /** Missing: the project's stages that `actions` enable. */
  stages?: TaskStage[];
}

type Asked = "ref" | "commit" | "message" | "actions" | "rerunOf" | "source";
type Choices =
  | ("rollbackTo" | "stages" | "serviceAction" | "runnerId" | "pipeline")
  | ("deploys" | "move" | "targetRunnerId");

/** An order of a person, or of the server itself: no delivery asked for it, and it waits for none. */
export function manualOrder(
  project: Project,
  username: string,
  traceparent: string | null,
  asked: Pick<TaskOrder, Asked> & Partial<Pick<TaskOrder, Choices>>,
): TaskOrder {
  const nothing = { causeRef: null, causeCommit: null, deliveryId: null, notBefore: null };
  const who = { triggeredBy: username, author: username };
  return { triggerType: "manual", ...who, ...nothing, traceparent, ...asked, project };
}

/** Manual runs go first, because a person waits for them. */
export const priorityOf = { manual: 10, webhook: 0 } as const;

/** The task of an order. Throws Fault "invalid" if the order leaves no stage to run. */
export function newTaskOf({ project, stages, rollbackTo = null, ...asked }: TaskOrder, now: Date): NewTask {
  return {
    ...asked,
    rollbackTo,
    projectId: project.id,
    stages: stages ?? stagesFor(project, asked.actions),
    priority: priorityOf[asked.triggerType],
    createdAt: now,
  };
}
