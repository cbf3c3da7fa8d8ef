import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { stageNames } from "../../model/stage/stage-name.ts";
import type { Keepers } from "../../model/store.ts";
import { releaseIdOf } from "../../model/task.ts";
import { changedSettings } from "./changed-settings.ts";

/** More than any runner keeps. */
export const consideredReleases = 200;

/** The serving release, by the task that built it. A rollback runs a release that an earlier task built. */
export async function liveReleaseId(
  { releases, tasks }: Pick<Keepers, "releases" | "tasks">,
  { liveTaskId }: Pick<Project, "liveTaskId">,
): Promise<number | null> {
  if (liveTaskId === null) return null;
  if (await releases.ofTask(liveTaskId)) return liveTaskId;
  const task = await tasks.byId(liveTaskId);
  return (task && releaseIdOf(task)) ?? liveTaskId;
}

/**
 * The releases that a rollback may go to, the nearest first: the one that the serving release replaced when it was first
 * deployed, the one that this replaced, and so on. `releases` are those of `ReleaseKeeper.ofProject`. If none is known to
 * serve, the last one that did is the first, unless it has ended by itself.
 */
export function earlierReleases(releases: readonly Release[], liveId: number | null): Release[] {
  const live = releases.find(({ taskId }) => taskId === liveId);
  const last = live ?? servedLast(releases);
  if (last === undefined) return [];
  const left = live ?? (last.endedAt === null ? null : last);
  const earlier: Release[] = [];
  let place = left === null ? last.place : left.replacedPlace;
  for (const release of releases) {
    if (release.place > place) continue;
    place = release.replacedPlace;
    if (left === null || !isSameDeploy(release, left)) earlier.push(release);
  }
  return earlier;
}

/** Those of them that are not known to have ended by themselves. */
export function workingReleases(releases: readonly Release[]): Release[] {
  return releases.filter(({ endedAt }) => endedAt === null);
}

/** The one that began to serve last, whether it still does or not. */
export function servedLast(releases: readonly Release[]): Release | undefined {
  return releases.toSorted((a, b) => b.deployedAt.getTime() - a.deployedAt.getTime())[0];
}

/** A rollback from one to the other would change nothing: a rerun has deployed the same commit with the same settings. */
function isSameDeploy(one: Release, other: Release): boolean {
  return (
    one.commit === other.commit && changedSettings(one, { ...other, image: "" }, stageNames).length === 0
  );
}
