import { Fault } from "../errors.ts";
import { entryOfTask, type NewAuditEntry } from "../model/audit.ts";
import type { AddedCall } from "../model/outgoing-call.ts";
import { hasSideEffects } from "../model/stage/task-stages.ts";
import { type OperationKeepers, operation } from "../model/store.ts";
import { isFinished, type Lease, type LogLine, type Task, type TaskClaim } from "../model/task.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { existing } from "../revision.ts";
import type { FinishRequest } from "../runner/protocol.ts";
import { supersedeWaiting } from "./approval/answer-approval.ts";
import { type KnownProject, reportEnd, reportEnqueued, reportTask } from "./notify/report-task.ts";
import { settleMove } from "./release/earlier-services.ts";
import { noteEnd, noteLost, noteRollback, noteStage, type RollbackReport } from "./release/record-release.ts";
import { newTaskOf, type TaskOrder } from "./release/task-order.ts";
import { supersedeOlder } from "./supersede-older.ts";
import {
  afterFinish,
  afterLostLease,
  afterStage,
  approvalStep,
  asUnclaimed,
  type Ending,
  ended,
  mustStop,
  type StageReport,
} from "./transitions.ts";
import { appendSystemLine, type DecidedTask } from "./view/system-line.ts";

/*
 * The queue: every verb that moves a task from its creation to its end. Approvals, between a build and its deploy, are in approval/.
 *
 * - One task of a project at a time. A claim takes a task only while no task of its project is with a runner, and a unique index over
 *   those tasks refuses the later one of two claims that race. Actions with services have an order of their own.
 * - No task twice. Each claim makes a new lease, and every call of a runner changes the task only while the task has the lease of that
 *   call. A task whose runner is lost is repeated only if no deploy or start had begun.
 * - No task lost. Until its end a task is queued, waits for a person, or has a lease; a lease that is not renewed expires, and so does
 *   one whose runner renews it but never ends the task.
 * - Two servers cannot disagree. Each verb is one transaction with the time of the database, and each of its changes names the state,
 *   and mostly the lease, that it starts from: of two servers that decide about one task, the second finds it changed and does nothing.
 *   Messages to people and Git hosts are stored in the same transaction.
 */

export interface Enqueued {
  task: Task;
  /** Older tasks of the same ref that were superseded: canceled (they were queued) or canceling (they run). */
  superseded: Task[];
  /** What was stored for people and the Git host. */
  calls: AddedCall[];
}

/** Enqueue: a task that was just created supersedes older ones of its ref, as far as the project says so, and is reported. */
export async function enqueue(
  keepers: OperationKeepers,
  task: Task,
  known: KnownProject,
  consoleUrl: string,
): Promise<Enqueued> {
  const superseded = await supersedeOlder(keepers, known.project, task);
  return { task, superseded, calls: await reportEnqueued(keepers, { task, superseded }, consoleUrl, known) };
}

/** Enqueues a task that no delivery asked for, with its audit entry. */
export async function enqueueAudited(
  keepers: OperationKeepers,
  { order, consoleUrl, audited }: { order: TaskOrder; consoleUrl: string; audited: NewAuditEntry },
): Promise<Enqueued> {
  const task = await keepers.tasks.create(newTaskOf(order, keepers.now()));
  await keepers.audit.add(entryOfTask(audited, task));
  return enqueue(keepers, task, order, consoleUrl);
}

export const startTask = operation("startTask", enqueueAudited);

/** Claim: a runner gets the first task that it may take, with a new lease. Null: there is none. */
export const claimTask = operation(
  "claimTask",
  async ({ tasks, runners }, claim: TaskClaim): Promise<Task | null> => {
    const { runnerId, leaseHash, leaseUntil } = claim;
    // Most claims find nothing, so they read before they lock.
    if ((await tasks.next(claim)) === null) return null;
    // Two claims of one runner must not exceed its limit together: the second waits here.
    await runners.hold(runnerId);
    const next = await tasks.holdNext(claim);
    if (next === null) return null;
    const held = { leaseHash, leaseUntil, runnerId, fetchingSince: null, deployingSince: null };
    const set = { state: "dispatched", attempt: next.attempt + 1, ...held } as const;
    return tasks.change(next.id, { whileIn: ["queued"], set });
  },
);

/** A runner's claim to hold a task, as its calls present it. */
export interface HeldLease {
  taskId: number;
  attempt: number;
  runnerId: number;
  leaseHash: string;
  /** The term of the renewed lease. */
  leaseMs: number;
}

/** Renew: every call of a runner about its task begins a new term of the lease. Null: the caller no longer holds the task. */
export async function renew(keepers: OperationKeepers, held: HeldLease): Promise<Task | null> {
  const { taskId, attempt, runnerId, leaseHash, leaseMs } = held;
  const task = await keepers.tasks.change(taskId, {
    whileIn: ["dispatched", "running", "canceling"],
    leaseHash,
    set: { leaseUntil: new Date(keepers.now().getTime() + leaseMs) },
  });
  return task && task.runnerId === runnerId && task.attempt === attempt ? task : null;
}

export const renewLease = operation("renewLease", renew);

interface Reported {
  task: Task;
  /** The event for subscribers. */
  event: "changed" | "started" | "resolved";
  calls: AddedCall[];
}

/** Report: a stage or step of the task has begun or ended. Null: the runner no longer holds the task. */
export const reportStage = operation(
  "reportStage",
  async (
    keepers,
    { held, request, consoleUrl }: { held: HeldLease; request: StageReport; consoleUrl: string },
  ): Promise<Reported | null> => {
    const before = await renew(keepers, held);
    if (!before) return null;
    if (mustStop(before) && request.state === "running") return { task: before, event: "changed", calls: [] };
    const set = afterStage(before, request, keepers.now());
    const task = await keepers.tasks.change(before.id, { whileIn: [before.state], set });
    if (!task) return null;
    await noteStage(keepers, task, request);
    const isStart = before.startedAt === null;
    const isResolved = request.commit !== undefined && before.commit === null;
    if (!isStart && !isResolved) return { task, event: "changed", calls: [] };
    // Of a resolved commit nobody is notified, but it gets its status.
    const calls = await reportTask(keepers, isStart ? "task.started" : "status", task, consoleUrl);
    return { task, event: isStart ? "started" : "resolved", calls };
  },
);

/** Reports how the rollback after a failed deploy goes. Null: the runner no longer holds the task. */
export const reportRollback = operation(
  "reportRollback",
  async (keepers, { held, request }: { held: HeldLease; request: RollbackReport }): Promise<Task | null> => {
    const before = await renew(keepers, held);
    if (!before) return null;
    const rollback = await noteRollback(keepers, before, request, keepers.now());
    return keepers.tasks.change(before.id, { whileIn: [before.state], set: { rollback } });
  },
);

interface SentLines {
  held: HeldLease;
  lines: LogLine[];
  /** Index after the last line. */
  end: number;
  logMaxBytes: number;
}

interface Appended {
  task: Task;
  /** Lines that were not in the log before. */
  fresh: LogLine[];
  /** The next index expected. */
  ack: number;
}

/** A runner cuts the log at its limit; lines of a faulty runner beyond it are acknowledged and dropped. */
const logSlackBytes = 1024 * 1024;

/** Reports lines of the log. Null: the runner no longer holds the task. */
export const appendLog = operation(
  "appendLog",
  async (keepers, { held, lines, end, logMaxBytes }: SentLines): Promise<Appended | null> => {
    const task = await renew(keepers, held);
    if (!task) return null;
    if ((await keepers.tasks.logBytes(task.id)) > logMaxBytes + logSlackBytes)
      return { task, fresh: [], ack: end };
    const before = await keepers.tasks.nextLogIndex(task.id);
    const ack = await keepers.tasks.appendLog(task.id, lines);
    return { task, fresh: lines.filter((line) => line.index >= before && line.index < ack), ack };
  },
);

interface Finish extends Ending {
  held: HeldLease;
  kept: FinishRequest["kept"];
  images?: FinishRequest["images"];
  consoleUrl: string;
}

interface Finished extends DecidedTask {
  /** Requests for approval that the deploy has overtaken. */
  superseded: DecidedTask[];
}

/**
 * Finish: the task ends with the result of its runner, or waits for its approval, or is built again. Null: the runner no longer
 * holds the task.
 */
export const finishTask = operation(
  "finishTask",
  async (keepers, finish: Finish): Promise<Finished | null> => {
    const { held, kept, images, consoleUrl } = finish;
    const before = await renew(keepers, held);
    if (!before) return null;
    const now = keepers.now();
    const step = approvalStep(before, finish, now);
    const set = step ?? afterFinish(before, finish, now);
    const task = await keepers.tasks.change(before.id, { whileIn: [before.state], set });
    if (!task) return null;
    if (step !== null) {
      if (kept) await keepers.releases.keepOnly(task.projectId, held.runnerId, kept);
      const line = await appendSystemLine(keepers, task, now);
      return { task, line, superseded: [], calls: await reportStep(keepers, task, consoleUrl) };
    }
    await noteEnd(keepers, task, { isTouched: hasSideEffects(before.stages), kept, images }, now);
    await settleMove(keepers, task);
    const superseded = task.serviceAction === null ? await supersedeWaiting(keepers, task, consoleUrl) : [];
    return { task, line: null, superseded, calls: await reportEnd(keepers, task, consoleUrl) };
  },
);

interface Undelivered {
  id: number;
  leaseHash: string;
  consoleUrl: string;
}

/** Give back: no runner got the task, so it is queued as it was before the claim. Null: somebody else has decided about it. */
export const giveBackTask = operation(
  "giveBackTask",
  async (keepers, { id, leaseHash, consoleUrl }: Undelivered): Promise<DecidedTask | null> => {
    const task = await keepers.tasks.hold(id);
    if (task?.leaseHash !== leaseHash) return null;
    if (task.state === "canceling") return endLost(keepers, task, false, consoleUrl);
    const set = asUnclaimed(task);
    const queued = await keepers.tasks.change(id, { whileIn: ["dispatched"], leaseHash, set });
    return queued && { task: queued, line: null, calls: [] };
  },
);

/** Refuses a task that no runner can run: it fails, or it would be handed out for ever. */
export const refuseTask = operation(
  "refuseTask",
  async (
    keepers,
    { id, leaseHash, reason, consoleUrl }: Undelivered & { reason: Reason },
  ): Promise<DecidedTask | null> => {
    const task = await keepers.tasks.hold(id);
    if (task?.leaseHash !== leaseHash) return null;
    if (task.state === "canceling") return endLost(keepers, task, false, consoleUrl);
    const now = keepers.now();
    const set = { ...ended(task, "failed", now), reason };
    const failed = await keepers.tasks.change(id, { whileIn: ["dispatched"], leaseHash, set });
    if (!failed) return null;
    await settleMove(keepers, failed);
    const line = await appendSystemLine(keepers, failed, now);
    return { task: failed, line, calls: await reportEnd(keepers, failed, consoleUrl) };
  },
);

interface Expired {
  lease: Lease;
  /** Its runner calls, but does not end the task. */
  isStuck?: boolean;
  consoleUrl: string;
}

/**
 * Expire: the runner did not call for a whole lease, or does not end the task, which is therefore repeated or ends. Null: the lease
 * was renewed or ended meanwhile.
 */
export const expireLease = operation(
  "expireLease",
  async (keepers, { lease, isStuck = false, consoleUrl }: Expired): Promise<DecidedTask | null> => {
    const task = await keepers.tasks.hold(lease.id);
    if (task?.leaseHash !== lease.leaseHash) return null;
    if (task.leaseUntil?.getTime() !== lease.leaseUntil.getTime()) return null;
    return endLost(keepers, task, isStuck, consoleUrl);
  },
);

interface Cancel {
  id: number;
  reason: Reason;
  consoleUrl: string;
  audited: NewAuditEntry;
}

interface Canceled {
  task: Task;
  /** The event for subscribers; null: the task was already being canceled. */
  event: "finished" | "changed" | null;
  calls: AddedCall[];
}

/** Cancel: a task without a runner ends at once, and a task on a runner when that runner has ended it. */
export const cancelTask = operation(
  "cancelTask",
  async (keepers, { id, reason, consoleUrl, audited }: Cancel): Promise<Canceled> => {
    const before = existing(await keepers.tasks.byId(id), "task", id);
    await keepers.audit.add(entryOfTask(audited, before));
    const canceled = await keepers.tasks.change(id, {
      whileIn: ["queued", "waiting"],
      set: { ...ended(before, "canceled", keepers.now()), reason },
    });
    if (canceled)
      return { task: canceled, event: "finished", calls: await reportEnd(keepers, canceled, consoleUrl) };
    const canceling = await keepers.tasks.change(id, {
      whileIn: ["dispatched", "running"],
      set: { state: "canceling", reason },
    });
    if (canceling) return { task: canceling, event: "changed", calls: [] };
    const seen = (await keepers.tasks.byId(id)) ?? before;
    if (isFinished(seen.state))
      throw new Fault("conflict", newReason("task_over", { id, state: seen.state }));
    return { task: seen, event: null, calls: [] };
  },
);

/** Decides about a task, which is locked, without its runner. */
async function endLost(
  keepers: OperationKeepers,
  task: Task,
  isStuck: boolean,
  consoleUrl: string,
): Promise<DecidedTask | null> {
  const now = keepers.now();
  const set = afterLostLease(task, isStuck, now);
  const changed = await keepers.tasks.change(task.id, { whileIn: [task.state], set });
  if (!changed) return null;
  await noteLost(keepers, changed);
  await settleMove(keepers, changed);
  const line = await appendSystemLine(keepers, changed, now);
  const calls =
    changed.state === "queued"
      ? await reportTask(keepers, "task.queued", changed, consoleUrl)
      : await reportEnd(keepers, changed, consoleUrl);
  return { task: changed, line, calls };
}

/** Reports a task that waits for its approval, or that was canceled instead; not a task that is built again. */
async function reportStep(keepers: OperationKeepers, task: Task, consoleUrl: string): Promise<AddedCall[]> {
  return task.state === "waiting"
    ? reportTask(keepers, "approval.requested", task, consoleUrl)
    : reportEnd(keepers, task, consoleUrl);
}
