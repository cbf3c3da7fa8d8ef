import { Fault } from "../../errors.ts";
import type { QueueState } from "../../model/delivery.ts";
import type { AddedCall } from "../../model/outgoing-call.ts";
import { runOf } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import { type StageName, stageNames } from "../../model/stage/stage-name.ts";
import type { Keepers } from "../../model/store.ts";
import type { NewTask, Task, TaskStage } from "../../model/task.ts";
import type { Actions } from "../../model/webhook-config.ts";
import { newReason } from "../../reason/reason.ts";
import { endStages, hasSideEffects, plannedStage } from "./stages.ts";

/** The data of a new task. Webhook tasks and manual ones differ only in these values. */
export interface TaskOrder
  extends Omit<NewTask, "projectId" | "stages" | "priority" | "createdAt" | "rollbackTo"> {
  project: Project;
  /** The release to roll back to, by the task that built it. */
  rollbackTo?: number | null;
  /** Missing: the project's stages that `actions` enable. */
  stages?: TaskStage[];
}

/** The result of `enqueueTask`; announce it when its transaction is on disk. */
export interface Enqueued {
  task: Task;
  project: Project;
  /** Older tasks of the same ref that were superseded: canceled (they were queued) or canceling (they run). */
  superseded: Task[];
}

/** What is announced of a new task. */
export interface AnnouncedTask extends Pick<Enqueued, "task" | "superseded"> {
  project: Pick<Project, "id" | "name">;
}

/** Notifies runners, browsers and people of a committed transaction. */
export interface TaskAnnouncer {
  enqueued(enqueued: AnnouncedTask): void;
  /** A queued task was moved to another ref or commit. */
  moved(task: Task): void;
  /** Sends notifications and commit statuses that were stored in the transaction. */
  send(calls: readonly AddedCall[]): void;
  /** Address of the console, for the links of messages. Operations that store messages get it as data. */
  consoleUrl(): string;
}

const manualPriority = 10;

/** Manual runs go first, because a person waits for them. */
export const priorityOf = { manual: manualPriority, webhook: 0 } as const;

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

/** Puts a task into the queue, inside the caller's transaction. */
export async function enqueueTask(
  keepers: Pick<Keepers, "tasks">,
  order: TaskOrder,
  now: Date,
): Promise<Enqueued> {
  const { project } = order;
  const task = await keepers.tasks.create(newTaskOf(order, now));
  return { task, project, superseded: await supersedeOlder(keepers, project, task, now) };
}

/** The project's stages as this task will run them; stages disabled by `actions` or without a script are skipped. */
export function stagesFor({ pipeline }: Pick<Project, "pipeline">, actions: Actions | null): TaskStage[] {
  const isAsked = (name: StageName) => isStageAsked(actions, name);
  if (!stageNames.some(isAsked))
    throw new Fault("invalid", newReason("actions_empty"), {
      fields: [{ field: "actions", message: newReason("no_stage_left") }],
    });
  return stageNames.map((name) => {
    const steps = runOf(pipeline, name).map((each) => each.name);
    return plannedStage(name, isAsked(name) && steps.length > 0 ? "pending" : "skipped", steps);
  });
}

/** A missing boolean means true. */
export function isStageAsked(actions: Actions | null, name: StageName): boolean {
  const from = actions?.fromStage ? stageNames.indexOf(actions.fromStage) : 0;
  return stageNames.indexOf(name) >= from && actions?.[name] !== false;
}

/** Whether the stages of one request include those of the other. */
export function coversStages(actions: Actions | null, others: Actions | null): boolean {
  return stageNames.every((name) => isStageAsked(actions, name) || !isStageAsked(others, name));
}

/** Older tasks of the same ref are superseded by a new one, as far as the project's settings say so. */
export async function supersedeOlder(
  keepers: Pick<Keepers, "tasks">,
  project: Project,
  task: Task,
  now: Date,
): Promise<Task[]> {
  if (project.supersede === "none") return [];
  const reason = newReason("superseded_by", { task: task.id });
  const superseded: Task[] = [];
  for (const older of await keepers.tasks.unfinishedOfProject(project.id)) {
    if (older.id === task.id || older.ref !== task.ref || older.approval?.state === "approved") continue;
    const changed =
      (await keepers.tasks.change(older.id, {
        whileIn: ["queued"],
        set: {
          state: "canceled",
          reason,
          supersededBy: task.id,
          stages: endStages(older.stages, "canceled", now),
          finishedAt: now,
        },
      })) ??
      // An interrupted deploy or start leaves an undefined state.
      (project.supersede === "running" && !hasSideEffects(older.stages)
        ? await keepers.tasks.change(older.id, {
            whileIn: ["dispatched", "running"],
            set: { state: "canceling", reason, supersededBy: task.id },
          })
        : null);
    if (changed) superseded.push(changed);
  }
  return superseded;
}

/** A task's place in the queue, for people. */
export interface QueuePlace {
  /** Another task or a busy runner delays it; the debounce window alone does not count. */
  queued: boolean;
  /** Unfinished tasks that must start before it, plus one. */
  position: number;
}

/**
 * Tasks of its own project always delay a task; tasks of other projects only if they occupy the runners' last places.
 */
export function placeAtTheEnd({ own, others, heldOwn, held, capacity }: QueueState): QueuePlace {
  const position = own + others + 1;
  if (own > 0 || heldOwn > 0) return { queued: true, position };
  const before = held + others;
  return { queued: before > 0 && before >= capacity, position };
}
