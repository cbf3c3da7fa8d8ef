import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import type { Keepers } from "../../model/store.ts";
import { consideredReleases, liveReleaseId } from "./earlier-releases.ts";

/** How far an environment is behind another one: what serves there, and not yet here. */
export interface Behind {
  from: string;
  /** Releases that were deployed there since the one that serves here. */
  releases: number;
  /** When the first of them was deployed. */
  since: Date;
  /** Who made their commits. */
  authors: string[];
}

export interface EnvironmentView {
  project: Project;
  /** What serves; null: nothing is known to. */
  release: Release | null;
  /** Null: the same release serves in both, or the two cannot be compared. */
  behind: Behind | null;
}

type ViewKeepers = Pick<Keepers, "projects" | "releases" | "tasks">;

/** The environments of a project in the order of its settings. */
export async function environmentViews(keepers: ViewKeepers, project: Project): Promise<EnvironmentView[]> {
  const stored = await keepers.projects.environmentsOf([project.id]);
  const places = project.environments.flatMap(
    ({ name }) => stored.find(({ environment }) => environment?.name === name) ?? [],
  );
  const views = new Map<string, Placed>();
  for (const place of places) views.set(place.environment?.name ?? "", await placed(keepers, place));
  return [...views.values()].map((view) => ({
    project: view.project,
    release: view.release,
    behind: behindOf(view, sourceOf(view, [...views.values()])),
  }));
}

interface Placed {
  project: Project;
  release: Release | null;
  releases: Release[];
}

async function placed(keepers: ViewKeepers, project: Project): Promise<Placed> {
  const id = await liveReleaseId(keepers, project);
  const releases = await keepers.releases.ofProject(project.id, consideredReleases);
  return { project, release: releases.find(({ taskId }) => taskId === id) ?? null, releases };
}

/** Where it gets its releases from: the environment that it names, or the one before it. */
function sourceOf({ project }: Placed, all: readonly Placed[]): Placed | null {
  const index = all.findIndex((each) => each.project.id === project.id);
  const from = project.environment?.from;
  return (from ? all.find((each) => each.project.environment?.name === from) : all[index - 1]) ?? null;
}

function behindOf({ release }: Placed, source: Placed | null): Behind | null {
  if (source?.release == null || release === null) return null;
  const { releases } = source;
  const here = releases.find(
    ({ taskId, commit }) => taskId === release.promotedFrom || commit === release.commit,
  );
  if (here === undefined) return null;
  const serving = source.release.place;
  const ahead = releases.filter(({ place }) => place > here.place && place <= serving);
  const since = ahead.map(({ deployedAt }) => deployedAt).toSorted((a, b) => a.getTime() - b.getTime())[0];
  if (since === undefined) return null;
  const authors = [...new Set(ahead.map(({ author }) => author).filter((author) => author !== ""))];
  return { from: source.project.environment?.name ?? "", releases: ahead.length, since, authors };
}
