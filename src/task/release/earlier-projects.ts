import { hasReleases } from "../../model/release.ts";
import type { Keepers } from "../../model/store.ts";

const projectsPerPage = 200;
const maxNames = 10;

/** The warning at the start of the server about projects whose start script still handles the previous service itself. */
export async function earlierProjectWarnings({ projects }: Pick<Keepers, "projects">): Promise<string[]> {
  const names: string[] = [];
  for (let page = 1; ; page++) {
    const { items } = await projects.list({}, { page, pageSize: projectsPerPage });
    for (const project of items)
      if (!hasReleases(project) && project.stages.start.script.trim() !== "") names.push(project.name);
    if (items.length < projectsPerPage) break;
  }
  if (names.length === 0) return [];
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : "";
  return [
    `start.previous is "keep" in projects of an earlier version: ${names.slice(0, maxNames).join(", ")}${more}. Their starts are not proven, and a failed deploy is not rolled back; choose start.previous and rollback in their settings (docs/tasks.md).`,
  ];
}
