import type { Keepers } from "../../model/store.ts";
import { slowFetchMs, type Task, type TaskWait } from "../../model/task.ts";
import { newReason, type Sentence } from "../../reason/reason.ts";
import { projectWaits } from "./project-wait.ts";

/** Why each of these tasks waits: for a runner, for a place on one, or for its Git host. Undefined: it does not. */
export async function waitsOf(
  keepers: Pick<Keepers, "runners" | "tasks">,
  page: readonly Task[],
  now: Date,
): Promise<(task: Task) => TaskWait | undefined> {
  const queued = page.filter(({ state }) => state === "queued");
  const projectIds = [...new Set(queued.map(({ projectId }) => projectId))];
  const waits = await projectWaits(keepers, projectIds, now);
  const full = await keepers.tasks.fullRunners(projectIds, now);
  return ({ state, projectId, fetchingSince, serviceAction, deploys }) => {
    // An action waits for its runner only, whatever tasks the runner may take.
    if (state === "queued" && serviceAction !== null)
      return waits[projectId]?.isLasting ? undefined : waits[projectId];
    if (state === "queued") {
      const runners = full[projectId];
      return (
        waits[projectId] ?? (runners === undefined ? undefined : passing(newReason("wait_full", { runners })))
      );
    }
    const isSlow =
      fetchingSince !== null && deploys === null && now.getTime() - fetchingSince.getTime() > slowFetchMs;
    return state === "running" && isSlow ? passing(newReason("wait_git_host")) : undefined;
  };
}

function passing(why: Sentence): TaskWait {
  return { reason: newReason("waiting", { why }), isLasting: false };
}
