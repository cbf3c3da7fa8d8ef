import type { Release } from "../../model/release.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";

/** The release that a task deploys as it is, of whatever project; null: it deploys none, or no runner keeps it any more. */
export async function neededRelease(
  { releases }: Pick<Keepers, "releases">,
  { deploys }: Pick<Task, "deploys">,
): Promise<Release | null> {
  const release = deploys === null ? null : await releases.ofTask(deploys.taskId);
  return release?.projectId === deploys?.projectId && release?.state === "kept" ? release : null;
}
