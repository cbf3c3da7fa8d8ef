import { entryOfTask } from "../../model/audit.ts";
import { servicesOf } from "../../model/pipeline.ts";
import type { Release } from "../../model/release.ts";
import { stageNames } from "../../model/stage/stage-name.ts";
import { plannedStage } from "../../model/stage/task-stages.ts";
import type { OperationKeepers } from "../../model/store.ts";
import type { Task, TaskAction, TaskMove } from "../../model/task.ts";
import { manualOrder, newTaskOf } from "./task-order.ts";

/*
 * The services on the runner that a project leaves. What is done with them is a task of the service lane on that runner, which waits
 * there until the runner is connected.
 */

/** Stops them, because their data is about to be sent. Null: there are none. */
export async function stopEarlier(
  keepers: OperationKeepers,
  task: Task,
  move: TaskMove,
): Promise<Task | null> {
  return act(keepers, task, "stop", move.fromRunnerId);
}

/** A move has ended: what ran on the runner that does not serve ends there, or starts again if it was stopped for the move. */
export async function settleMove(keepers: OperationKeepers, task: Task): Promise<void> {
  const { move } = task;
  if (move === null || task.finishedAt === null) return;
  if (task.state === "success") {
    await act(keepers, task, "leave", move.fromRunnerId);
    return;
  }
  // Its result is not known: it may have started them.
  if (task.state === "lost" && task.deployingSince !== null)
    await act(keepers, task, "leave", move.toRunnerId);
  if (move.stopTaskId !== null) await act(keepers, task, "start", move.fromRunnerId);
}

async function act(
  keepers: OperationKeepers,
  { projectId, deploys, triggeredBy, id }: Task,
  type: "stop" | "start" | "leave",
  runnerId: number,
): Promise<Task | null> {
  const project = await keepers.projects.byId(projectId);
  const release = deploys && (await keepers.releases.ofTask(deploys.taskId));
  const services = release ? servicesOf(release.pipeline).map(({ name }) => name) : [];
  if (!project || !release || (services.length === 0 && type !== "leave")) return null;
  // Nothing waits for a runner that was deleted.
  if ((await keepers.runners.byId(runnerId)) === null) return null;
  const action: TaskAction = { type, services };
  const order = manualOrder(project, triggeredBy, null, {
    ...orderOf(release),
    ...{ serviceAction: action, runnerId, stages: stagesOf(services) },
  });
  const at = keepers.now();
  // It supersedes nothing, and nobody is notified of it.
  const task = await keepers.tasks.create(newTaskOf(order, at));
  const entry = { at, userId: null, username: "", action: `service.${type}`, projectId, subject: "" };
  await keepers.audit.add(entryOfTask({ ...entry, remoteIp: "", detail: { services, move: id } }, task));
  return task;
}

function orderOf({ ref, commit, message }: Release) {
  return { ref, commit, message, actions: null, rerunOf: null, source: null };
}

function stagesOf(services: string[]) {
  return stageNames.map((name) =>
    name === "start" ? plannedStage(name, "pending", services) : plannedStage(name, "skipped", []),
  );
}
