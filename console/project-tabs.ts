/** The parts of the page of a project, each with its address: `/projects/7`, `/projects/7/releases` … */
export const projectTabs = ["overview", "activity", "releases", "settings"] as const;

export type ProjectTab = (typeof projectTabs)[number];

export function isProjectTab(text: string): text is ProjectTab {
  return projectTabs.some((tab) => tab === text);
}

/** Earlier addresses below `/projects/7/`, which links in messages and in other programs still have. */
const moved: ReadonlyMap<string, string> = new Map([
  ["webhook", "settings/rules"],
  ["settings/general", "settings/source"],
  ["settings/stages", "settings/pipeline"],
  ["settings/execution", "settings/pipeline#execution"],
  ["settings/members", "settings/access"],
  ["settings/commit-status", "settings/notifications#commit-status"],
  ["settings/delete", "settings/source#delete"],
]);

/** Where a part of a project is now; null: it never was at this path. */
export function movedTo(path: string): string | null {
  return moved.get(path) ?? null;
}
