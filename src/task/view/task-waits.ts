import { isSeen, type Runner } from "../../model/runner.ts";
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
  const only = new Map<number, Runner | null>();
  for (const id of queued.map(onlyRunnerOf))
    if (id !== null && !only.has(id)) only.set(id, await keepers.runners.byId(id));
  return (task) => {
    const { state, projectId, fetchingSince, serviceAction, deploys } = task;
    const runner = only.get(onlyRunnerOf(task) ?? 0);
    if (state === "queued" && runner) return onlyWait(runner, serviceAction !== null, now);
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

/** The only runner that may take it, whatever the project says; null: it is a deploy of the project. */
function onlyRunnerOf({ serviceAction, runnerId, targetRunnerId }: Task): number | null {
  return serviceAction === null ? targetRunnerId : runnerId;
}

/** A disabled runner still gets actions with its services. */
function onlyWait(runner: Runner, isAction: boolean, now: Date): TaskWait | undefined {
  if (runner.disabled && !isAction) return passing(newReason("wait_only_disabled", { runner: runner.name }));
  return isSeen(runner, now) ? undefined : passing(newReason("wait_only_away", { runner: runner.name }));
}

function passing(why: Sentence): TaskWait {
  return { reason: newReason("waiting", { why }), isLasting: false };
}
