import { Fault } from "../../errors.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { isUp, type RunningService } from "../../model/service/running-service.ts";
import type { OperationKeepers } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";
import type { AnnouncedTask } from "../events/task-announcer.ts";
import { type Enqueued, enqueueAudited } from "../queue.ts";
import { rollbackOrder } from "../release/rollback-order.ts";
import { manualOrder } from "../release/task-order.ts";
import { appendSystemLine } from "../view/system-line.ts";

export type BegunRollback = AnnouncedTask & Enqueued;

const exitsOfLoop = 5;
const loopMs = 60_000;

/** The name in the place of a user, where the server itself has started a task. */
const serverName = "Slipway";

/** Whether a service ends again and again since it was last started. */
export function isCrashLoop({ state, exits, startedAt }: RunningService): boolean {
  const times = exits.map((at) => Date.parse(at)).filter((at) => at >= startedAt.getTime());
  const [first = 0] = times.slice(-exitsOfLoop);
  return !isUp(state) && times.length >= exitsOfLoop && (times.at(-1) ?? 0) - first <= loopMs;
}

/**
 * Begins a rollback because a service of a new release is in a crash loop, once for each time that the release began to serve.
 * While another task of the project is unfinished, that task decides; a later report asks again. Null: no rollback begins.
 */
export async function rollBackCrashLoop(
  keepers: OperationKeepers,
  project: Project,
  release: Release,
  service: RunningService,
  consoleUrl: string,
): Promise<BegunRollback | null> {
  const now = keepers.now();
  const windowMs = project.rollbackWithin * 60_000;
  const isNew = now.getTime() - release.deployedAt.getTime() <= windowMs;
  if (project.rollback !== "automatic" || windowMs === 0 || !isNew || release.rolledBackAt !== null)
    return null;
  if ((await keepers.tasks.unfinishedOfProject(project.id)).length > 0) return null;
  await keepers.releases.update(release.taskId, { endedAt: now, rolledBackAt: now });
  const order = await rollbackOrder(keepers, { ...project, liveTaskId: null }, null).catch(noRelease);
  if (order === null) return null;
  const reason = newReason("crash_loop", { service: service.name, exits: exitsOfLoop });
  const begun = await enqueueAudited(keepers, {
    order: manualOrder(project, serverName, null, order),
    consoleUrl,
    audited: {
      ...{ at: now, userId: null, username: "", action: "task.rollback", projectId: project.id },
      ...{ subject: "", remoteIp: "" },
      detail: { rollbackTo: order.rollbackTo, commit: order.commit, service: service.name },
    },
  });
  await appendSystemLine(keepers, { id: begun.task.id, reason }, now);
  return { ...begun, project: { id: project.id, name: project.name } };
}

/** Nothing to return to: the note of the project says what is down. */
function noRelease(error: unknown): null {
  if (error instanceof Fault && error.code === "conflict") return null;
  throw error;
}
