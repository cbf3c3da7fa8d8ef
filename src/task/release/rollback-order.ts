import { Fault } from "../../errors.ts";
import { atRollback } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { stagesFor, withSkipped } from "../../model/stage/task-stages.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { consideredReleases, earlierReleases, liveReleaseId, workingReleases } from "./earlier-releases.ts";
import type { TaskOrder } from "./task-order.ts";

type OrderKeepers = Pick<Keepers, "releases" | "tasks">;

/** The data of a rollback. */
export type RollbackOrder = Pick<
  TaskOrder,
  "ref" | "commit" | "message" | "actions" | "rerunOf" | "rollbackTo" | "source"
> & {
  stages?: Task["stages"];
} & Partial<Pick<TaskOrder, "deploys" | "pipeline">>;

/**
 * The data of the task that rolls back. Without `toTaskId`: the nearest release before the live one that is not known to
 * have ended by itself.
 */
export async function rollbackOrder(
  keepers: OrderKeepers,
  project: Project,
  toTaskId: number | null,
): Promise<RollbackOrder> {
  const release =
    toTaskId === null ? await earlierRelease(keepers, project) : await keepers.releases.ofTask(toTaskId);
  if (release?.projectId === project.id && release.state !== "candidate") {
    const source = (await keepers.tasks.byId(release.taskId))?.source ?? null;
    return { ...orderOf(release, project), source };
  }
  if (toTaskId === null)
    throw new Fault("conflict", newReason("no_earlier_release", { project: project.name }));
  throw new Fault("conflict", newReason("not_returnable", { id: toTaskId, project: project.name }));
}

async function earlierRelease(keepers: OrderKeepers, project: Project): Promise<Release | null> {
  const live = await liveReleaseId(keepers, project);
  const releases = await keepers.releases.ofProject(project.id, consideredReleases);
  const next = nextRelease(releases, live);
  const hasEnded = live === null ? releases.length > 0 : earlierReleases(releases, live).length > 0;
  if (next === null && hasEnded)
    throw new Fault("conflict", newReason("no_working_release", { project: project.name }));
  return next;
}

/** The release that a rollback takes which names none; `releases` are those of `ReleaseKeeper.ofProject`. */
export function nextRelease(releases: readonly Release[], liveId: number | null): Release | null {
  return workingReleases(earlierReleases(releases, liveId))[0] ?? null;
}

/** Whether it can serve again without a build. */
export function isUsable(release: Release, { homeRunnerId }: Pick<Project, "homeRunnerId">): boolean {
  return release.state === "kept" && release.runnerId === homeRunnerId;
}

function orderOf(release: Release, project: Project): Omit<RollbackOrder, "source"> {
  const { taskId, ref, commit, message } = release;
  const isKept = isUsable(release, project);
  const planned = withSkipped(
    stagesFor({ pipeline: atRollback(release.pipeline) }, null),
    (name) => isKept && name === "build",
  );
  return { ref, commit, message, actions: null, rerunOf: null, rollbackTo: taskId, stages: planned };
}
