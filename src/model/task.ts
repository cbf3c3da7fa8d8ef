import type { Reason, Sentence } from "../reason/reason.ts";
import type { TaskApproval } from "./approval/task-approval.ts";
import type { Page, PageRequest } from "./page.ts";
import type { LogStage, StageName } from "./stage/stage-name.ts";
import type { Actions, EventName } from "./webhook-config.ts";

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

export interface TaskStep {
  name: string;
  state: StageState;
  startedAt: Date | null;
  finishedAt: Date | null;
  exitCode: number | null;
}

/** The exit code of a stage is that of the last step that has ended. */
export interface TaskStage extends TaskStep {
  name: StageName;
  /** Those with a script; empty in tasks of version 1.0. */
  steps: TaskStep[];
}

export type TriggerType = "webhook" | "manual";

/**
 * What a person does with services that run, or one command in the release that serves. Such a task is in a lane of its own:
 * it is in no queue, and no deploy waits for it.
 */
export type TaskAction =
  | { type: "start" | "stop" | "restart"; services: string[] }
  | { type: "exec"; command: string[] };

export type TaskLane = "deploy" | "service";

export function laneOf({ serviceAction }: Pick<Task, "serviceAction">): TaskLane {
  return serviceAction === null ? "deploy" : "service";
}

/** The delivery that asked for a task, as far as the task has to know it. */
export interface TaskSource {
  event: EventName;
  /** Hosts announce one change in several ways: a new branch by `create` and `push`, a merge by both of its events. */
  announcedBy: "push" | "create" | "merge" | "request";
  /** The account that pushed, as the host names it; empty: unknown. */
  pusher: string;
  /** Users who sent the delivery by hand, as a test or a replay; absent: nobody did. */
  sentBy?: string[];
  /** Number of the merge request; empty: unknown, or none. */
  mergeRequest: string;
  targetBranch: string;
  /** Whether the built code is that of a fork. */
  fromFork: boolean;
  /** The object of an annotated tag; absent elsewhere. Hosts name it instead of the commit in some events. */
  tagObject?: string;
}

export interface Task {
  id: number;
  projectId: number;
  state: TaskState;
  triggerType: TriggerType;
  triggeredBy: string;
  /** Full ref that is built: refs/heads/main or refs/tags/v1. */
  ref: string;
  /** Pinned commit; null: the tip of ref. After checkout: the commit that ran. */
  commit: string | null;
  message: string;
  author: string;
  actions: Actions | null;
  stages: TaskStage[];
  /** The pushed ref, if refSource=project builds another one. */
  causeRef: string | null;
  causeCommit: string | null;
  /** Kept by repeats of the task; null: no delivery asked for it. */
  source: TaskSource | null;
  deliveryId: number | null;
  /** The task that this one repeats. */
  rerunOf: number | null;
  supersededBy: number | null;
  /** Null: it needs none, or was not handed out yet. */
  approval: TaskApproval | null;
  /** The task whose release this one brings back. */
  rollbackTo: number | null;
  /** How the previous release was brought back because this task failed. */
  rollback: TaskRollback | null;
  /** The reason of its final state. */
  reason: Reason;
  /** Manual runs go before webhook ones. */
  priority: number;
  /** The span that asked for the task, as W3C Trace Context writes it; null: the task is not traced. */
  traceparent: string | null;
  /** It must not be claimed before this time (debounce). */
  notBefore: Date | null;
  attempt: number;
  /** Fencing token of the current attempt, hashed. */
  leaseHash: string | null;
  leaseUntil: Date | null;
  /**
   * The runner that has it. Of a task that waits for an approval or was approved: the one with its built workspace. Of an action:
   * the one with the services.
   */
  runnerId: number | null;
  createdAt: Date;
  startedAt: Date | null;
  /** Since when its runner fetches the commit; null: it does not. */
  fetchingSince: Date | null;
  /** Since when its runner runs deploy or start; null: it has not begun. */
  deployingSince: Date | null;
  finishedAt: Date | null;
  /** Null: the task builds or deploys. */
  serviceAction: TaskAction | null;
}

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

export interface LogLine {
  /** From 0, without gaps, over all stages and attempts of a task. */
  index: number;
  stage: LogStage;
  /** The step of the stage that it belongs to; null: none. */
  step: string | null;
  at: Date;
  text: string;
}

/** `unneeded`: the previous release never stopped serving. */
export interface TaskRollback {
  /** The task that is live again. */
  taskId: number;
  commit: string;
  state: "running" | "success" | "failed" | "unneeded";
  reason: Reason;
  /** False: a success without any check or process that would show that it serves. */
  isProven?: boolean;
}

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
  /** Of an action with services only. */
  Partial<Pick<Task, "serviceAction" | "runnerId">>;

/** The fields that decide the queue position of a task. */
export type InQueue = Pick<Task, "id" | "projectId" | "priority" | "notBefore">;

export interface TaskFilter {
  projectId?: number;
  groupId?: number;
  state?: TaskState;
  ref?: string;
  author?: string;
  trigger?: TriggerType;
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
  list(filter: TaskFilter, page: PageRequest): Promise<Page<Task>>;
  /** Last task of each project, without actions with services, as everywhere but in lists of tasks. */
  lastOfProjects(projectIds: number[]): Promise<Task[]>;
  unfinishedOfProject(projectId: number): Promise<Task[]>;
  /** Tasks that wait for an approval, of one project or, without it, of all; the oldest first. */
  waiting(projectId?: number): Promise<Task[]>;
  /** The changed task, or null when the guard did not hold. */
  change(id: number, change: GuardedChange): Promise<Task | null>;
  /**
   * Oldest claimable task (priority, then id; notBefore passed; no other unfinished non-queued task of its project), moved to
   * dispatched. Actions with services of this runner go first: they wait only for a running deploy or start of their project,
   * and for each other.
   */
  claim(claim: TaskClaim): Promise<Task | null>;
  /**
   * Why queued tasks of these projects wait, by project: the rule of the claim that leaves no runner. With `runnerId`, as
   * if there were no other runner.
   */
  waits(projectIds: readonly number[], now: Date, runnerId?: number): Promise<Record<number, TaskWait>>;
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
