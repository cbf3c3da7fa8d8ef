import { Fault } from "../errors.ts";
import { toFullRef } from "../model/git-ref.ts";
import type { Project } from "../model/project.ts";
import type { Store } from "../model/store.ts";
import { isFinished, type Task } from "../model/task.ts";
import type { Actions } from "../model/webhook-config.ts";
import type { TaskEvents } from "./events/task-events.ts";
import { enqueueTask } from "./queue/queue.ts";
import { endStages } from "./queue/stages.ts";

/** What people do with tasks by hand. */
export interface Trigger {
  /** Runs the project's own ref unless told another; with `commit` that one, which is how an earlier is deployed again. */
  run(
    project: Project,
    asked: { ref: string | null; commit: string | null; actions: Actions | null },
    username: string,
  ): Promise<Task>;
  rerun(task: Task, project: Project, username: string): Promise<Task>;
  /** Answers the task as it is then: canceled, or canceling until its runner has ended it. */
  cancel(task: Task, username: string): Promise<Task>;
}

export function buildTrigger({ store, events }: { store: Store; events: TaskEvents }): Trigger {
  async function enqueue(
    project: Project,
    order: Pick<Task, "ref" | "commit" | "message" | "actions" | "rerunOf">,
    username: string,
  ): Promise<Task> {
    const now = await store.now();
    const enqueued = await store.transaction((keepers) =>
      enqueueTask(
        keepers,
        {
          ...order,
          project,
          triggerType: "manual",
          triggeredBy: username,
          author: username,
          causeRef: null,
          causeCommit: null,
          deliveryId: null,
          notBefore: null,
        },
        now,
      ),
    );
    events.enqueued(enqueued);
    return enqueued.task;
  }

  return {
    async run(project, asked, username) {
      const ref = toFullRef(asked.ref ?? project.git.ref);
      const commit = asked.commit?.toLowerCase() ?? null;
      return enqueue(project, { ref, commit, message: "", actions: asked.actions, rerunOf: null }, username);
    },
    rerun: ({ id, ref, commit, message, actions }, project, username) =>
      enqueue(project, { ref, commit, message, actions, rerunOf: id }, username),
    async cancel(task, username) {
      const reason = `canceled by ${username}`;
      const now = await store.now();
      const canceled = await store.tasks.change(task.id, {
        whileIn: ["queued"],
        set: { state: "canceled", reason, finishedAt: now, stages: endStages(task.stages, "canceled", now) },
      });
      if (canceled) {
        events.finished(canceled);
        return canceled;
      }
      const canceling = await store.tasks.change(task.id, {
        whileIn: ["dispatched", "running"],
        set: { state: "canceling", reason },
      });
      if (canceling) {
        events.changed(canceling);
        return canceling;
      }
      const seen = await store.tasks.byId(task.id);
      if (!seen) throw new Fault("not_found", `There is no task ${task.id}.`);
      if (isFinished(seen.state)) throw new Fault("conflict", `Task ${task.id} is over: ${seen.state}.`);
      return seen;
    },
  };
}
