import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { type ChangedSetting, changedSettings } from "./changed-settings.ts";
import { liveReleaseId } from "./release-instruction.ts";

/** What a deploy of a task changes, compared with the release that serves. */
export interface TaskChanges {
  /** Null: nothing is known to serve. */
  serving: Release | null;
  /** Newest first, the task itself among them. */
  commits: Task[];
  settings: ChangedSetting[];
}

/** More pushes than a person reads before an approval. */
const maxTasks = 50;

/**
 * What a deploy of a task changes. The server has no clone, so the commits are those of tasks: of the same ref, after the
 * serving release. A rollback has only its own.
 */
export async function changesOf(
  keepers: Pick<Keepers, "releases" | "tasks">,
  task: Task,
  project: Project,
): Promise<TaskChanges> {
  const live = await liveReleaseId(keepers, project);
  const serving = live === null ? null : await keepers.releases.ofTask(live);
  const back = task.rollbackTo === null ? null : await keepers.releases.ofTask(task.rollbackTo);
  const used = task.approval?.pinned ?? { image: project.image, ...(back ?? project) };
  const ran = task.stages.filter(({ state }) => state !== "skipped").map(({ name }) => name);
  return {
    serving,
    commits: serving === null || back !== null ? [task] : await pushedSince(keepers, task, serving),
    settings: serving === null ? [] : changedSettings(serving, used, ran),
  };
}

async function pushedSince({ tasks }: Pick<Keepers, "tasks">, task: Task, serving: Release): Promise<Task[]> {
  const filter = { projectId: task.projectId, ref: task.ref };
  const { items } = await tasks.list(filter, { page: 1, pageSize: maxTasks });
  const isBetween = ({ id, commit, rollbackTo }: Task) =>
    id > serving.taskId && id < task.id && rollbackTo === null && commit !== null;
  const known = new Set([serving.commit, task.commit]);
  const earlier = items.filter((each) => {
    if (!isBetween(each) || known.has(each.commit)) return false;
    known.add(each.commit);
    return true;
  });
  return [task, ...earlier];
}
