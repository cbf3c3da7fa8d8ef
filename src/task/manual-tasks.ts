import { Fault } from "../errors.ts";
import { entryOfTask, type NewAuditEntry } from "../model/audit.ts";
import { toFullRef } from "../model/git/git-ref.ts";
import type { AddedCall } from "../model/outgoing-call.ts";
import type { Project } from "../model/project.ts";
import { operation, type Store } from "../model/store.ts";
import { isFinished, type Task } from "../model/task.ts";
import type { Actions } from "../model/webhook-config.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { existing } from "../revision.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { TaskEvents } from "./events/task-events.ts";
import { enqueueReported } from "./notify/enqueue-reported.ts";
import { reportEnd } from "./notify/report-task.ts";
import { endStages } from "./queue/stages.ts";
import { recordManualStart } from "./queue/task-trace.ts";
import { type RollbackOrder, rollbackOrder } from "./release/rollback-order.ts";

/**
 * Tasks that users start, repeat and cancel. Webhook deliveries create tasks in the same way, with `enqueueTask`.
 * The audit entry names the user and the action, and is stored with the change.
 */
export interface ManualTasks {
  /** Runs the project's ref, or another one; with `commit` an earlier commit is deployed again. */
  run(
    project: Project,
    asked: { ref: string | null; commit: string | null; actions: Actions | null },
    audited: NewAuditEntry,
  ): Promise<Task>;
  rerun(task: Task, project: Project, audited: NewAuditEntry): Promise<Task>;
  /** Rolls back to an earlier release; null: the release that served before. A kept release runs without a build. */
  rollback(project: Project, toTaskId: number | null, audited: NewAuditEntry): Promise<Task>;
  /** Returns the task: canceled, or canceling until its runner has ended it. */
  cancel(task: Task, audited: NewAuditEntry): Promise<Task>;
}

export interface ManualTasksParts {
  store: Store;
  events: TaskEvents;
  telemetry: Telemetry;
}

export function buildManualTasks({ store, events, telemetry }: ManualTasksParts): ManualTasks {
  async function enqueue(project: Project, order: RollbackOrder, audited: NewAuditEntry): Promise<Task> {
    const { username } = audited;
    const traceparent = telemetry.newTrace();
    const startMs = Date.now();
    const { enqueued, calls } = await store.run(startTask, {
      order: {
        ...order,
        project,
        triggerType: "manual",
        triggeredBy: username,
        author: username,
        causeRef: null,
        causeCommit: null,
        deliveryId: null,
        traceparent,
        notBefore: null,
      },
      consoleUrl: events.consoleUrl(),
      audited,
    });
    recordManualStart(telemetry, enqueued.task, startMs);
    events.enqueued(enqueued);
    events.send(calls);
    return enqueued.task;
  }

  return {
    async run(project, asked, audited) {
      const ref = toFullRef(asked.ref ?? project.git.ref);
      const commit = asked.commit?.toLowerCase() ?? null;
      return enqueue(
        project,
        { ref, commit, message: "", actions: asked.actions, rerunOf: null, rollbackTo: null, source: null },
        { ...audited, detail: { ref, commit } },
      );
    },
    rerun: ({ id, ref, commit, message, actions, source }, project, audited) =>
      enqueue(
        project,
        { ref, commit, message, actions, rerunOf: id, rollbackTo: null, source },
        { ...audited, detail: { rerunOf: id } },
      ),
    async rollback(project, toTaskId, audited) {
      const order = await rollbackOrder(store, project, toTaskId);
      const detail = { rollbackTo: order.rollbackTo ?? order.rerunOf, commit: order.commit };
      return enqueue(project, order, { ...audited, detail });
    },
    async cancel(task, audited) {
      const {
        task: now,
        event,
        calls,
      } = await store.run(cancelTask, {
        id: task.id,
        reason: newReason("canceled_by", { user: audited.username }),
        consoleUrl: events.consoleUrl(),
        audited,
      });
      if (event !== null) events[event](now);
      events.send(calls);
      return now;
    },
  };
}

export const startTask = operation("startTask", enqueueReported);

interface Canceled {
  task: Task;
  /** The event for subscribers; null: the task was already being canceled. */
  event: "finished" | "changed" | null;
  calls: AddedCall[];
}

interface Cancel {
  id: number;
  reason: Reason;
  consoleUrl: string;
  audited: NewAuditEntry;
}

/** A queued task ends at once; a task on a runner ends when the runner has ended it. */
export const cancelTask = operation(
  "cancelTask",
  async (keepers, { id, reason, consoleUrl, audited }: Cancel): Promise<Canceled> => {
    const before = existing(await keepers.tasks.byId(id), "task", id);
    await keepers.audit.add(entryOfTask(audited, before));
    const now = keepers.now();
    const stages = endStages(before.stages, "canceled", now);
    const canceled = await keepers.tasks.change(id, {
      whileIn: ["queued", "waiting"],
      set: { state: "canceled", reason, finishedAt: now, stages },
    });
    if (canceled)
      return {
        task: canceled,
        event: "finished",
        calls: await reportEnd(keepers, canceled, consoleUrl),
      };
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
