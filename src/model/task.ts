import { z } from "zod";
import { eventNames } from "../git-host/delivery/event.ts";
import type { Sentence } from "../reason/reason.ts";
import { reasonSchema } from "../reason/schema-forms.ts";
import type { TaskApproval } from "./approval/task-approval.ts";
import type { Page, PageRequest } from "./page.ts";
import type { Pipeline } from "./pipeline.ts";
import { actionsSchema } from "./stage/actions.ts";
import { logStages, stageNames } from "./stage/stage-name.ts";

const id = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

export const taskStates = [
  "queued",
  "dispatched",
  "running",
  "canceling",
  "waiting",
  "success",
  "failed",
  "canceled",
  "timeout",
  "lost",
] as const;
export type TaskState = (typeof taskStates)[number];

export const unfinishedStates = [
  "queued",
  "dispatched",
  "running",
  "canceling",
] as const satisfies TaskState[];

/** A task that waits for an approval is with no runner and in no queue, but it has not ended. */
export function isFinished(state: TaskState): boolean {
  return state !== "waiting" && !(unfinishedStates as readonly TaskState[]).includes(state);
}

export const stageStates = [
  "pending",
  "running",
  "success",
  "failed",
  "skipped",
  "canceled",
  "timeout",
  "lost",
] as const;
export type StageState = (typeof stageStates)[number];

export const taskStep = z.object({
  name: z.string().meta({ example: "test" }),
  state: z.enum(stageStates),
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
  exitCode: z.number().int().nullable(),
});
export type TaskStep = z.infer<typeof taskStep>;

/** The exit code of a stage is that of the last step that has ended. */
export const taskStage = taskStep.extend({
  name: z.enum(stageNames),
  /** Those with a script; empty in tasks of version 1.0. */
  steps: z.array(taskStep),
});
export type TaskStage = z.infer<typeof taskStage>;

/**
 * What a person does with services that run, or one command in the release that serves. Such a task is in a lane of its own:
 * it is in no queue, and no deploy waits for it.
 */
const taskAction = z.union([
  z.object({ type: z.enum(["start", "stop", "restart"]), services: z.array(z.string()) }),
  z.object({ type: z.literal("exec"), command: z.array(z.string()) }),
  /** Ends all that runs of the project on a runner that it has left. */
  z.object({ type: z.literal("leave"), services: z.array(z.string()) }),
]);
export type TaskAction = z.infer<typeof taskAction>;

/** The release of its own project that a task brings to service again; null: it makes one. */
export function releaseIdOf({
  projectId,
  rollbackTo,
  deploys,
}: Pick<Task, "projectId" | "rollbackTo" | "deploys">): number | null {
  return rollbackTo ?? (deploys?.projectId === projectId ? deploys.taskId : null);
}

export type TaskLane = "deploy" | "service";

export function laneOf({ serviceAction }: Pick<Task, "serviceAction">): TaskLane {
  return serviceAction === null ? "deploy" : "service";
}

/** The release that a task deploys instead of building one, of its own project or of another one. */
const deployedRelease = z.object({
  projectId: id,
  /** The task that built it. */
  taskId: id,
  digest: z
    .string()
    .nullable()
    .meta({ description: "SHA-256 of its files; null: it was not sealed, or by an earlier version." }),
});

const taskMove = z.object({
  fromRunnerId: id,
  toRunnerId: id,
  withData: z.boolean(),
  /** The task that has stopped the services on the earlier runner; null: they were not stopped. */
  stopTaskId: id.nullable(),
});
export type TaskMove = z.infer<typeof taskMove>;

/** The delivery that asked for a task, as far as the task has to know it. */
const taskSource = z.object({
  event: z.enum(eventNames),
  /** Hosts announce one change in several ways: a new branch by `create` and `push`, a merge by both of its events. */
  announcedBy: z.enum(["push", "create", "merge", "request"]),
  pusher: z.string().meta({ description: "The account that pushed; empty: not known." }),
  sentBy: z
    .array(z.string())
    .optional()
    .meta({ description: "Users who sent the delivery by hand, as a test or a replay." }),
  mergeRequest: z.string().meta({ description: "Its number; empty: none, or not known." }),
  targetBranch: z.string(),
  /** Whether the built code is that of a fork. */
  fromFork: z.boolean(),
  /** Hosts name it instead of the commit in some events. */
  tagObject: z.string().optional().meta({ description: "The object of an annotated tag." }),
});
export type TaskSource = z.infer<typeof taskSource>;

/** `unneeded`: the previous release never stopped serving. */
export const taskRollback = z.object({
  /** The task that is live again. */
  taskId: id,
  commit: z.string(),
  state: z.enum(["running", "success", "failed", "unneeded"]),
  reason: reasonSchema,
  isProven: z.boolean().optional().meta({
    description: "False: no health check and no process of the release shows that it serves.",
  }),
});

export const taskSchema = z.object({
  id,
  projectId: id,
  state: z.enum(taskStates),
  triggerType: z.enum(["webhook", "manual"]),
  triggeredBy: z.string(),
  /** Full ref that is built: refs/heads/main or refs/tags/v1. */
  ref: z.string().meta({ example: "refs/heads/main" }),
  /** Pinned commit; null: the tip of ref. */
  commit: z.string().nullable().meta({ description: "After checkout: the commit that ran." }),
  message: z.string(),
  author: z.string(),
  actions: actionsSchema.nullable(),
  stages: z.array(taskStage),
  /** The pushed ref, if refSource=project builds another one. */
  causeRef: z.string().nullable(),
  causeCommit: z.string().nullable(),
  /** Kept by repeats of the task. */
  source: taskSource.nullable().meta({ description: "The delivery that asked for it; null: none did." }),
  deliveryId: id.nullable(),
  /** The task that this one repeats. */
  rerunOf: id.nullable(),
  supersededBy: id.nullable(),
  /** Null: it needs none, or was not handed out yet. */
  approval: z.custom<TaskApproval>().nullable(),
  rollbackTo: id.nullable().meta({ description: "The task whose release this one brings back." }),
  /** How the previous release was brought back because this task failed. */
  rollback: taskRollback.nullable(),
  reason: reasonSchema.meta({ description: "Why it ended as it did, for people." }),
  /** Manual runs go before webhook ones. */
  priority: z.number().int(),
  /** The span that asked for the task, as W3C Trace Context writes it; null: the task is not traced. */
  traceparent: z.string().nullable(),
  /** It must not be claimed before this time (debounce). */
  notBefore: z.date().nullable(),
  attempt: z.number().int(),
  /** Fencing token of the current attempt, hashed. */
  leaseHash: z.string().nullable(),
  leaseUntil: z.date().nullable(),
  /**
   * The runner that has it. Of a task that waits for an approval or was approved: the one with its built workspace. Of an action:
   * the one with the services.
   */
  runnerId: id.nullable(),
  createdAt: z.date(),
  startedAt: z.date().nullable(),
  /** Since when its runner fetches the commit; null: it does not. */
  fetchingSince: z.date().nullable(),
  /** Since when its runner runs deploy or start; null: it has not begun. */
  deployingSince: z.date().nullable(),
  finishedAt: z.date().nullable(),
  serviceAction: taskAction
    .nullable()
    .meta({ description: "What it does with the release that serves; null: it builds or deploys." }),
  deploys: deployedRelease.nullable().meta({
    description:
      "The release that it deploys as it is, without a build: of another environment, or from another runner. Null: none.",
  }),
  move: taskMove.nullable().meta({ description: "It moves its project to another runner." }),
  /** The only runner that may take it, whatever the project's is; null: that of the project. */
  targetRunnerId: id.nullable(),
  /** What the file of its commit says; null: it was not read, or its project has none. */
  pipeline: z.custom<Pipeline>().nullable(),
});
export type Task = z.infer<typeof taskSchema>;

/** A fetch that takes longer waits for its Git host, and holds no place that another task needs. */
export const slowFetchMs = 3000;
/** How many tasks a runner holds beyond its concurrency: those whose fetch waits, and rollbacks to releases that it keeps. */
export const extraFetches = 8;
export const extraRollbacks = 8;
/** How many actions with services a runner holds at the same time, beside its other tasks. */
export const maxActions = 8;

type TaskTimes = Pick<Task, "startedAt" | "finishedAt" | "approval">;

/** Time from the start of a task to its end, without the time in which it waited for an approval; null: not ended. */
export function workedMs(task: TaskTimes): number | null {
  const { startedAt, finishedAt } = task;
  if (startedAt === null || finishedAt === null) return null;
  return Math.max(0, finishedAt.getTime() - startedAt.getTime() - waitedMs(task));
}

/** Time in which a started task waited for approvals. A wait counts once it is over. */
export function waitedMs({ startedAt, finishedAt, approval }: TaskTimes): number {
  if (startedAt === null || approval === null) return 0;
  const { requestedAt, at, earlierWaitMs = 0 } = approval;
  const until = at ? Date.parse(at) : finishedAt?.getTime();
  if (until === undefined || !requestedAt) return earlierWaitMs;
  return earlierWaitMs + Math.max(0, until - Math.max(startedAt.getTime(), Date.parse(requestedAt)));
}

export const logLine = z.object({
  /** From 0, without gaps, over all stages and attempts of a task. */
  index: z.number().int(),
  stage: z.enum(logStages),
  step: z.string().nullable().meta({ description: "The step that it belongs to; null: none." }),
  at: z.date(),
  text: z.string(),
});
export type LogLine = z.infer<typeof logLine>;

export type NewTask = Pick<
  Task,
  | "projectId"
  | "triggerType"
  | "triggeredBy"
  | "ref"
  | "commit"
  | "message"
  | "author"
  | "actions"
  | "stages"
  | "causeRef"
  | "causeCommit"
  | "source"
  | "deliveryId"
  | "rerunOf"
  | "rollbackTo"
  | "priority"
  | "traceparent"
  | "notBefore"
  | "createdAt"
> &
  /** Of an action with services, and of a promotion. */
  Partial<Pick<Task, "serviceAction" | "runnerId" | "pipeline">> &
  /** Of a task that deploys a release that exists. */
  Partial<Pick<Task, "deploys" | "move" | "targetRunnerId">>;

/** The fields that decide the queue position of a task. */
export type InQueue = Pick<Task, "id" | "projectId" | "priority" | "notBefore">;

export interface TaskFilter {
  projectId?: number;
  groupId?: number;
  state?: TaskState;
  ref?: string;
  author?: string;
  trigger?: Task["triggerType"];
  /** Created at this time or later. */
  from?: Date;
  /** Created before this time. */
  to?: Date;
  visibleProjectIds?: number[];
}

/** A change that applies only while the task is in one of `whileIn` (and holds `leaseHash`, when given). */
export interface GuardedChange {
  whileIn: readonly TaskState[];
  leaseHash?: string;
  /** Only if the lease has not been renewed meanwhile. */
  leaseUntil?: Date;
  set: Partial<Omit<Task, "id" | "projectId" | "createdAt">>;
}

/** A runner's hold on a task. Each renewal changes `leaseUntil`. */
export interface Lease {
  id: number;
  leaseHash: string;
  leaseUntil: Date;
}

export interface TaskClaim {
  runnerId: number;
  /** Runners that have not called since then are gone; absent: none is. */
  goneBefore?: Date;
  leaseHash: string;
  leaseUntil: Date;
  now: Date;
}

/** Why no runner can take the queued tasks of a project. */
export interface TaskWait {
  /** "waiting: no runner has the labels gpu" */
  reason: Sentence;
  /** True: only a change of settings helps. False: a runner just has to connect. */
  isLasting: boolean;
}

export interface TaskKeeper {
  create(task: NewTask): Promise<Task>;
  byId(id: number): Promise<Task | null>;
  /** Reads a task and locks it until the transaction ends: no runner can take it meanwhile. */
  hold(id: number): Promise<Task | null>;
  list(filter: TaskFilter, page: PageRequest): Promise<Page<Task>>;
  /** Last task of each project, without actions with services, as everywhere but in lists of tasks. */
  lastOfProjects(projectIds: number[]): Promise<Task[]>;
  unfinishedOfProject(projectId: number): Promise<Task[]>;
  /** Those in the queue that only this runner may take: actions with its services, and moves to it. */
  queuedFor(runnerId: number): Promise<Task[]>;
  /** Tasks that wait for an approval, of one project or, without it, of all; the oldest first. */
  waiting(projectId?: number): Promise<Task[]>;
  /** The changed task, or null when the guard did not hold. */
  change(id: number, change: GuardedChange): Promise<Task | null>;
  /**
   * The task that this runner may take next (priority, then id; notBefore passed; no other unfinished non-queued task of its
   * project). Actions with services of this runner go first: they wait only for a running deploy or start of their project, and
   * for each other.
   */
  next(claim: TaskClaim): Promise<Task | null>;
  /** The same, and locks it with its project until the transaction ends. What another claim has locked is left out. */
  holdNext(claim: TaskClaim): Promise<Task | null>;
  /** The names of the connected runners that may take tasks of a project, by project, if none of them has room. */
  fullRunners(projectIds: readonly number[], now: Date): Promise<Record<number, string>>;
  /** Earliest notBefore of a queued task after `now`; a claimer sleeps until then. */
  nextNotBefore(now: Date): Promise<Date | null>;
  /**
   * Queue positions by task id: one more than the number of queued tasks that must start before it. Those are the tasks
   * ahead of it that may start by the time it may; of another project only the first one, and none while that project has
   * a task with a runner. Tasks that are no longer queued are left out.
   */
  positions(tasks: readonly InQueue[], now: Date): Promise<Record<number, number>>;
  /** The leases of all tasks that runners hold. */
  leases(): Promise<Lease[]>;
  countByState(): Promise<Record<TaskState, number>>;
  /** Appends lines that continue the log; skips duplicates, refuses gaps. Returns the next expected index. */
  appendLog(taskId: number, lines: LogLine[]): Promise<number>;
  nextLogIndex(taskId: number): Promise<number>;
  log(taskId: number, from: number, limit: number): Promise<LogLine[]>;
  /** Size of the log as tasks.logMaxBytes counts it, with the overhead of each line. */
  logBytes(taskId: number): Promise<number>;
}
