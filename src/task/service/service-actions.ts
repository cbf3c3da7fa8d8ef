import { Fault } from "../../errors.ts";
import type { NewAuditEntry } from "../../model/audit.ts";
import { servicesOf } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { isSeen } from "../../model/runner.ts";
import { stageNames } from "../../model/stage/stage-name.ts";
import { plannedStage } from "../../model/stage/task-stages.ts";
import { type OperationKeepers, operation, type Store } from "../../model/store.ts";
import type { Task, TaskAction } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { existing } from "../../revision.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { TaskEvents } from "../events/task-events.ts";
import { enqueueAudited } from "../queue.ts";
import { manualOrder } from "../release/task-order.ts";
import { recordManualStart } from "../view/task-trace.ts";

/** What people do with the services of the release that serves. The audit entry is stored with the task. */
export interface ServiceActions {
  begin(project: Project, action: TaskAction, audited: NewAuditEntry): Promise<Task>;
}

export interface ServiceActionsParts {
  store: Store;
  events: TaskEvents;
  telemetry: Telemetry;
}

export function buildServiceActions({ store, events, telemetry }: ServiceActionsParts): ServiceActions {
  return {
    async begin(project, action, audited) {
      const traceparent = telemetry.newTrace();
      const startMs = Date.now();
      const { task, canceling } = await store.run(beginAction, {
        ...{ projectId: project.id, action, traceparent, audited, consoleUrl: events.consoleUrl() },
      });
      recordManualStart(telemetry, task, startMs);
      if (canceling) events.changed(canceling);
      events.enqueued({ task, project, superseded: [] });
      return task;
    },
  };
}

interface Begin {
  projectId: number;
  action: TaskAction;
  traceparent: string | null;
  audited: NewAuditEntry;
  consoleUrl: string;
}

/** Creates the task of an action. A stop cancels a deploy or start of the project that runs, which would start the service again. */
export const beginAction = operation(
  "beginAction",
  async (
    keepers,
    { projectId, action, traceparent, audited, consoleUrl }: Begin,
  ): Promise<{ task: Task; canceling: Task | null }> => {
    // Before the project, as every report of a runner locks them.
    const deploying = action.type === "stop" ? await holdDeploy(keepers, projectId) : null;
    const project = existing(await keepers.projects.hold(projectId), "project", projectId);
    const release = await servingRelease(keepers, project, action);
    const { ref, commit, message, runnerId } = release;
    const order = manualOrder(project, audited.username, traceparent, {
      ...{ ref, commit, message, actions: null, rerunOf: null, source: null },
      ...{ stages: stagesOf(action), serviceAction: action, runnerId },
    });
    const detailed = { ...audited, detail: detailOf(action) };
    const { task } = await enqueueAudited(keepers, { order, consoleUrl, audited: detailed });
    return { task, canceling: deploying && (await cancelDeploy(keepers, deploying, task)) };
  },
);

/** Throws a Fault if the release that serves has no such service, or its runner cannot do anything. */
async function servingRelease(
  keepers: OperationKeepers,
  project: Project,
  action: TaskAction,
): Promise<Release> {
  const release = await keepers.releases.servedLast(project.id);
  if (release?.state !== "kept")
    throw new Fault("conflict", newReason("nothing_deployed", { project: project.name }));
  // Its data is being sent: nothing may write to it.
  const moving = (await keepers.tasks.unfinishedOfProject(project.id)).find(({ move }) => move?.stopTaskId);
  if (moving !== undefined)
    throw new Fault("conflict", newReason("moves_data", { project: project.name, task: moving.id }));
  const names = servicesOf(release.pipeline).map(({ name }) => name);
  const unknown = action.type === "exec" ? undefined : action.services.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Fault("not_found", newReason("no_service", { name: unknown }));
  const runner = await keepers.runners.byId(release.runnerId);
  if (!runner || runner.disabled || !isSeen(runner, keepers.now()))
    throw new Fault("unavailable", newReason("runner_away", { runner: runner?.name ?? release.runnerId }), {
      isShown: true,
    });
  return release;
}

/** One step for each service, as in a deploy. */
function stagesOf(action: TaskAction) {
  const steps = action.type === "exec" ? ["exec"] : action.services;
  return stageNames.map((name) =>
    name === "start" ? plannedStage(name, "pending", steps) : plannedStage(name, "skipped", []),
  );
}

function detailOf(action: TaskAction): Record<string, unknown> {
  return action.type === "exec" ? { command: action.command } : { services: action.services };
}

/** The deploy or start of the project that runs. The action waits for one that begins later. */
async function holdDeploy(
  { tasks }: Pick<OperationKeepers, "tasks">,
  projectId: number,
): Promise<Task | null> {
  const unfinished = await tasks.unfinishedOfProject(projectId);
  const deploying = unfinished.find(({ deployingSince }) => deployingSince !== null);
  return deploying === undefined ? null : tasks.hold(deploying.id);
}

function cancelDeploy(
  { tasks }: Pick<OperationKeepers, "tasks">,
  { id }: Task,
  stop: Task,
): Promise<Task | null> {
  return tasks.change(id, {
    whileIn: ["dispatched", "running"],
    set: {
      state: "canceling",
      reason: newReason("canceled_by_stop", { task: stop.id, user: stop.triggeredBy }),
    },
  });
}
