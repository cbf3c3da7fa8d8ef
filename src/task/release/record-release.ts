import { shortCommit } from "../../model/git/short-commit.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { isSideEffect } from "../../model/stage/stage-name.ts";
import { hasSideEffects } from "../../model/stage/task-stages.ts";
import type { Keepers } from "../../model/store.ts";
import { releaseIdOf, type Task } from "../../model/task.ts";
import { inOrder, newReason, type Reason } from "../../reason/reason.ts";
import type { FinishRequest, RollbackRequest, StageRequest } from "../../runner/protocol.ts";

/*
 * Records what a runner's call says about releases: the one that a deploy has made, and which one is known to serve. Each
 * function runs in the transaction that acknowledges the call, so that at no moment a commit is named that a runner may
 * already have ended. Actions with services change no release: what serves follows from the states of the services.
 */

type ReleaseKeepers = Pick<Keepers, "projects" | "releases" | "tasks">;

/** Deploy or start begins, or the previous service is about to be ended. */
export async function noteStage(
  { projects, tasks }: ReleaseKeepers,
  task: Task,
  request: Pick<StageRequest, "stage" | "state" | "endsPrevious">,
): Promise<void> {
  if (task.serviceAction !== null || request.state !== "running" || !isSideEffect(request.stage)) return;
  const project = await projects.byId(task.projectId);
  // What serves on the earlier runner goes on.
  if (!project || task.move !== null) return;
  if (!request.endsPrevious) {
    await projects.setLive(project.id, { liveNote: newReason("live_deploying", nameOf(task)) });
    return;
  }
  const live = project.liveTaskId === null ? null : await tasks.byId(project.liveTaskId);
  const liveNote = live
    ? newReason("live_replacing", { ...nameOf(task), previous: shortOf(live.commit) })
    : newReason("live_replacing_service", nameOf(task));
  await projects.setLive(project.id, { liveTaskId: null, liveNote });
}

interface TaskEnd {
  /** Deploy or start had begun. The stages of the ended task no longer show it: a cancel also marks those that had not. */
  isTouched: boolean;
  kept: FinishRequest["kept"];
  images?: FinishRequest["images"];
}

/** The task has ended with a result of its runner. */
export async function noteEnd(
  keepers: ReleaseKeepers,
  task: Task,
  { isTouched, kept, images = {} }: TaskEnd,
  now: Date,
): Promise<void> {
  const { projects, releases } = keepers;
  // After a move, the earlier runner reports the releases that it still has.
  if (task.serviceAction?.type === "leave" && kept && task.runnerId !== null)
    await releases.keepOnly(task.projectId, task.runnerId, kept);
  const project = task.serviceAction === null ? await projects.byId(task.projectId) : null;
  if (!project) return;
  if (task.state === "success") await noteSuccess(keepers, project, task, { kept: kept ?? [], images }, now);
  else await noteFailure(keepers, project, task, isTouched);
  if (kept && task.runnerId !== null) await releases.keepOnly(project.id, task.runnerId, kept);
}

async function noteSuccess(
  { projects, releases }: ReleaseKeepers,
  project: Project,
  task: Task,
  { kept, images }: { kept: { taskId: number }[]; images: Record<string, string> },
  now: Date,
): Promise<void> {
  if (!task.stages.some(({ name, state }) => isSideEffect(name) && state === "success")) return;
  await projects.setLive(project.id, { liveTaskId: task.id, liveNote: "", ...homeOf(project, task) });
  const own = await releases.ofTask(task.id);
  const served = {
    commit: task.commit ?? "",
    message: task.message,
    images,
    state: "gone",
    ...(await servesFrom(releases, project.id, now)),
  } as const;
  const fromId = releaseIdOf(task);
  const from = fromId === null ? null : await releases.ofTask(fromId);
  if (own) {
    const { place, replacedPlace } = from ?? (await newPlace(releases, project));
    return releases.update(task.id, { ...served, place, replacedPlace });
  }
  if (!from) return;
  // Its kept workspace was lost, and the runner has built the release again as this task.
  const isRebuilt = kept.some(({ taskId }) => taskId === task.id);
  if (isRebuilt && task.runnerId !== null)
    return releases.put({
      ...from,
      ...served,
      taskId: task.id,
      attempt: task.attempt,
      runnerId: task.runnerId,
      promotedFrom: null,
    });
  const place = task.move === null ? {} : { runnerId: task.move.toRunnerId, images };
  const { deployedAt, endedAt, rolledBackAt } = served;
  await releases.update(from.taskId, { deployedAt, endedAt, rolledBackAt, ...place });
}

/**
 * The change of a release that begins to serve. Its time is later than that of every other release of the project, also if
 * the clock was ahead at an earlier deploy.
 */
async function servesFrom(releases: Keepers["releases"], projectId: number, now: Date) {
  const last = (await releases.servedLast(projectId))?.deployedAt ?? now;
  const deployedAt = last > now ? new Date(last.getTime() + 1) : now;
  return { deployedAt, endedAt: null, rolledBackAt: null };
}

/** A release that a rollback has built again has the place of the release that it replaces. */
async function newPlace(
  releases: Keepers["releases"],
  { id }: Project,
): Promise<Pick<Release, "place" | "replacedPlace">> {
  const [newest] = await releases.ofProject(id, 1);
  const replaced = await releases.servedLast(id);
  return { place: (newest?.place ?? 0) + 1, replacedPlace: replaced?.place ?? 0 };
}

/** Without a rollback, the state after a partial deploy is unknown. */
async function noteFailure(
  { projects, releases }: ReleaseKeepers,
  project: Project,
  task: Task,
  isTouched: boolean,
): Promise<void> {
  await releases.delete(task.id);
  if (!isTouched || task.rollback || task.move !== null) return;
  await projects.setLive(project.id, { liveTaskId: null, liveNote: unknownText(task, project) });
}

/** The runner of a task is gone. */
export async function noteLost({ projects, releases }: ReleaseKeepers, task: Task): Promise<void> {
  const project = task.serviceAction === null ? await projects.byId(task.projectId) : null;
  if (!project || task.state !== "lost" || task.move !== null) return;
  await releases.delete(task.id);
  if (!hasSideEffects(task.stages) || isServing(task.rollback?.state)) return;
  await projects.setLive(project.id, {
    ...{ liveTaskId: null, liveNote: unknownText(task, project) },
    // What the task has started may run on that runner, and only that runner can end it.
    ...homeOf(project, task),
  });
}

/** The project stays with the runner of its first deploy, until it is moved. */
function homeOf(project: Project, { runnerId, move }: Task): Partial<Pick<Project, "homeRunnerId">> {
  return { homeRunnerId: move?.toRunnerId ?? project.homeRunnerId ?? runnerId };
}

function unknownText(task: Task, { liveTaskId }: Project): Reason {
  const now = newReason(task.state === "lost" ? "live_lost" : "live_failed", nameOf(task));
  return liveTaskId === null ? now : inOrder(now, newReason("live_before", { task: liveTaskId }));
}

export type RollbackReport = Pick<RollbackRequest, "toTaskId" | "state" | "isProven"> & { reason: Reason };

/** The previous release is restored. Returns the task's reference to it; null: none is known to serve, or none exists. */
export async function noteRollback(
  { projects, releases }: ReleaseKeepers,
  task: Task,
  { toTaskId, state, reason, isProven }: RollbackReport,
  now: Date,
): Promise<Task["rollback"]> {
  const project = await projects.byId(task.projectId);
  const release = await releases.ofTask(toTaskId);
  if (!project || release?.projectId !== project.id) return null;
  const rollback = {
    ...{ taskId: toTaskId, commit: release.commit, state, reason },
    ...(isProven === undefined ? {} : { isProven }),
  };
  const liveNote = rollbackText(task, rollback);
  if (state === "unneeded") {
    // The task has changed nothing, so it can neither end nor prove that something serves.
    if (project.liveTaskId === null || !hasSideEffects(task.stages)) return null;
    await projects.setLive(project.id, { liveNote });
    return rollback;
  }
  await projects.setLive(project.id, { liveTaskId: state === "success" ? toTaskId : null, liveNote });
  if (state === "success") await releases.update(toTaskId, await servesFrom(releases, project.id, now));
  return rollback;
}

/** Whether the previous release serves after a rollback in this state. */
function isServing(state: RollbackRequest["state"] | undefined): boolean {
  return state === "success" || state === "unneeded";
}

/** For the task, the project, the commit status and notifications: "abc1234 failed; def5678 is serving again." */
export function rollbackText(task: Pick<Task, "commit">, rollback: NonNullable<Task["rollback"]>): Reason {
  const [failed, back] = [shortOf(task.commit), shortOf(rollback.commit)];
  const values = { failed, serving: back };
  if (rollback.state === "success")
    return newReason(rollback.isProven === false ? "put_back" : "rolled_back", values);
  if (rollback.state === "unneeded") return newReason("still_serving", values);
  if (rollback.state === "running") return newReason("rolling_back", values);
  return newReason("rollback_failed", { ...values, detail: rollback.reason });
}

function nameOf({ id, commit }: Pick<Task, "id" | "commit">) {
  return { task: id, commit: shortOf(commit) };
}

function shortOf(commit: string | null): string {
  return commit === null ? "an unknown commit" : shortCommit(commit);
}
