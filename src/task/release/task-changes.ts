import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { type ValueKeepers, withGroupVariables } from "../view/inherited-values.ts";
import { type ChangedSetting, changedPins, changedSettings } from "./changed-settings.ts";
import { liveReleaseId } from "./earlier-releases.ts";

/** What a deploy of a task changes, compared with the release that serves. */
export interface TaskChanges {
  /** Null: nothing is known to serve. */
  serving: Release | null;
  /** Newest first, the task itself among them: one of each commit that was pushed after the one that serves. */
  commits: Task[];
  /** The commit is an earlier one than that of the serving release: by a rollback, a rerun or a replay. */
  goesBack: boolean;
  settings: ChangedSetting[];
}

/** How many tasks of the ref are looked at, and how many of them are more than a person reads before an approval. */
const maxTasks = 200;
const maxListed = 50;

/**
 * What a deploy of a task changes. The server has no clone and runners fetch no history, so the commits are those of tasks
 * of the same ref, in the order in which they were pushed first. A task that goes back has only its own.
 */
export async function changesOf(
  keepers: Pick<Keepers, "releases" | "tasks"> & ValueKeepers,
  task: Task,
  project: Project,
): Promise<TaskChanges> {
  const live = await liveReleaseId(keepers, project);
  const serving = live === null ? null : await keepers.releases.ofTask(live);
  const back = task.rollbackTo === null ? null : await keepers.releases.ofTask(task.rollbackTo);
  const used = task.approval?.pinned ?? {
    image: project.image,
    ...(back ?? (await withGroupVariables(keepers, project))),
  };
  const ran = task.stages.filter(({ state }) => state !== "skipped").map(({ name }) => name);
  const settings = serving === null ? [] : changedSettings(serving, used, ran);
  const served = serving === null ? null : ((await keepers.tasks.byId(serving.taskId))?.approval ?? null);
  if (served && task.approval) settings.push(...changedPins(served.pinned, task.approval.pinned));
  if (serving === null) return { serving, commits: [task], goesBack: false, settings };
  const pushes = await pushesOf(keepers, task);
  const goesBack = back === null ? isBefore(pushes, task.commit, serving) : back.commit !== serving.commit;
  return {
    serving,
    commits: goesBack || back !== null ? [task] : pushedSince(pushes, task, serving),
    goesBack,
    settings,
  };
}

/** The first task of each commit, newest first. A later one has no new commit: it is a rerun, a replay or a rollback. */
async function pushesOf({ tasks }: Pick<Keepers, "tasks">, { projectId, ref }: Task): Promise<Task[]> {
  const found = await tasks.list({ projectId, ref }, { page: 1, pageSize: maxTasks });
  const items = found.items.filter(({ serviceAction }) => serviceAction === null);
  const first = new Map(items.map((task) => [task.commit, task]));
  return items.filter((task) => task.commit !== null && first.get(task.commit) === task);
}

/** The commits that a rollback to a release takes back: those pushed after its own, up to the one that serves; newest first. */
export async function takenBackBy(
  keepers: Pick<Keepers, "tasks">,
  release: Release,
  live: Task,
): Promise<Task[]> {
  if (live.ref !== release.ref || live.commit === release.commit) return [];
  const pushes = await pushesOf(keepers, live);
  const served = pushes.find(({ commit }) => commit === live.commit) ?? live;
  return isBefore(pushes, live.commit, release) ? [] : pushedSince(pushes, served, release);
}

/** Whether a commit was pushed before that of the serving release. */
function isBefore(pushes: Task[], commit: string | null, serving: Release): boolean {
  const place = (wanted: string | null) => pushes.findIndex((push) => push.commit === wanted);
  const [own, served] = [place(commit), place(serving.commit)];
  return own >= 0 && served >= 0 && own > served;
}

function pushedSince(pushes: Task[], task: Task, serving: Release): Task[] {
  const served = pushes.find(({ commit }) => commit === serving.commit)?.id ?? serving.taskId;
  const between = pushes.filter(({ id, commit }) => id > served && id < task.id && commit !== task.commit);
  return [task, ...between].slice(0, maxListed);
}
