import type { NewAuditEntry } from "../model/audit.ts";
import { toFullRef } from "../model/git/git-ref.ts";
import type { Project } from "../model/project.ts";
import type { Actions } from "../model/stage/actions.ts";
import { resetStages } from "../model/stage/task-stages.ts";
import type { Store } from "../model/store.ts";
import type { Task } from "../model/task.ts";
import { newReason } from "../reason/reason.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { beginMove } from "./begin-move.ts";
import { deleteRunner } from "./change-runner.ts";
import type { TaskEvents } from "./events/task-events.ts";
import { cancelTask, startTask } from "./queue.ts";
import { promotionOrder } from "./release/promotion-order.ts";
import { type RollbackOrder, rollbackOrder } from "./release/rollback-order.ts";
import { manualOrder } from "./release/task-order.ts";
import { recordManualStart } from "./view/task-trace.ts";

/**
 * Tasks that users start, repeat and cancel. The audit entry names the user and the action, and is stored with the change.
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
  /** Deploys in one environment what serves in another one of the same project. */
  promote(from: Project, to: Project, audited: NewAuditEntry): Promise<Task>;
  /** Moves it to another runner. Null: no task was needed. */
  move(
    project: Project,
    asked: { runnerId: number | null; data: "with" | "without" | null },
    audited: NewAuditEntry,
  ): Promise<Task | null>;
  /** Returns the task: canceled, or canceling until its runner has ended it. */
  cancel(task: Task, audited: NewAuditEntry): Promise<Task>;
  /** Deletes a runner, and cancels what only it could take. */
  deleteRunner(runnerId: number, audited: NewAuditEntry): Promise<void>;
}

export interface ManualTasksParts {
  store: Store;
  events: TaskEvents;
  telemetry: Telemetry;
}

export function buildManualTasks({ store, events, telemetry }: ManualTasksParts): ManualTasks {
  async function enqueue(project: Project, order: RollbackOrder, audited: NewAuditEntry): Promise<Task> {
    const traceparent = telemetry.newTrace();
    const startMs = Date.now();
    const { calls, ...enqueued } = await store.run(startTask, {
      order: manualOrder(project, audited.username, traceparent, order),
      consoleUrl: events.consoleUrl(),
      audited,
    });
    recordManualStart(telemetry, enqueued.task, startMs);
    events.enqueued({ ...enqueued, project });
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
    rerun: (
      { id, ref, commit, message, actions, source, deploys, pipeline, stages, projectId },
      project,
      audited,
    ) =>
      enqueue(
        project,
        {
          ...{ ref, commit, message, actions, rerunOf: id, rollbackTo: null, source },
          ...(deploys === null || deploys.projectId === projectId
            ? {}
            : { deploys, pipeline, stages: resetStages(stages) }),
        },
        { ...audited, detail: { rerunOf: id } },
      ),
    async rollback(project, toTaskId, audited) {
      const order = await rollbackOrder(store, project, toTaskId);
      const detail = { rollbackTo: order.rollbackTo ?? order.rerunOf, commit: order.commit };
      return enqueue(project, order, { ...audited, detail });
    },
    async promote(from, to, audited) {
      const order = await promotionOrder(store, from, to);
      const { deploys, commit } = order;
      return enqueue(to, order, {
        ...audited,
        detail: { promotes: deploys?.taskId, commit, from: from.name, to: to.name },
      });
    },
    async move(project, asked, audited) {
      const traceparent = telemetry.newTrace();
      const startMs = Date.now();
      const begun = await store.run(beginMove, {
        ...{ projectId: project.id, ...asked, traceparent, audited, consoleUrl: events.consoleUrl() },
      });
      if (begun === null) return null;
      const { calls, ...enqueued } = begun;
      recordManualStart(telemetry, enqueued.task, startMs);
      events.enqueued({ ...enqueued, project });
      events.send(calls);
      return enqueued.task;
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
    async deleteRunner(runnerId, audited) {
      const asked = { id: runnerId, consoleUrl: events.consoleUrl(), audited };
      const { canceled, calls } = await store.run(deleteRunner, asked);
      for (const task of canceled) events.finished(task);
      events.send(calls);
    },
  };
}
