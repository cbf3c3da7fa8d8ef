import { Fault } from "../../errors.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { stagesFor, withSkipped } from "../../model/stage/task-stages.ts";
import type { Keepers } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";
import { liveReleaseId } from "./earlier-releases.ts";
import type { RollbackOrder } from "./rollback-order.ts";

/** The data of a promotion: nothing is built, so that what was tested is what is deployed. */
export type PromotionOrder = RollbackOrder & Required<Pick<RollbackOrder, "deploys" | "pipeline">>;

/** The release that serves in an environment, if it can be promoted; null: none does. */
export async function promotableRelease(
  keepers: Pick<Keepers, "releases" | "tasks">,
  from: Project,
): Promise<Release | null> {
  const id = await liveReleaseId(keepers, from);
  const release = id === null ? null : await keepers.releases.ofTask(id);
  return release?.state === "kept" ? release : null;
}

/** The task that deploys what serves in `from`. Throws a Fault if nothing does, or if `to` does not get its releases from there. */
export async function promotionOrder(
  keepers: Pick<Keepers, "releases" | "tasks">,
  from: Project,
  to: Project,
): Promise<PromotionOrder> {
  const allowed = to.environment?.from ?? null;
  if (from.id === to.id || (allowed !== null && allowed !== from.environment?.name))
    throw new Fault("conflict", newReason("promotion_from", { to: to.name, from: from.name }));
  const release = await promotableRelease(keepers, from);
  if (release === null) throw new Fault("conflict", newReason("promotion_nothing", { from: from.name }));
  // What one environment can write to is not what another one was approved for.
  if (!release.pipeline.sealed)
    throw new Fault("conflict", newReason("promotion_unsealed", { from: from.name }));
  const source = (await keepers.tasks.byId(release.taskId))?.source ?? null;
  const { taskId, ref, commit, message, pipeline, digest } = release;
  const stages = withSkipped(stagesFor({ pipeline }, null), (name) => name === "build");
  return {
    ...{ ref, commit, message, source, pipeline, stages },
    ...{ actions: null, rerunOf: null, rollbackTo: null, deploys: { projectId: from.id, taskId, digest } },
  };
}
