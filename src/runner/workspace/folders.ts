import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Where workspaces are, and where versions before 2.0 had them. */
const places = [
  { parent: "releases", ofProject: (id: number) => String(id) },
  { parent: "work", ofProject: (id: number) => `project-${id}` },
];

/** The workspaces of all projects in the folder of a runner. */
export function workspacesIn(root: string): string[] {
  return places.flatMap(({ parent }) =>
    foldersIn(join(root, parent)).flatMap((project) => within(join(root, parent, project))),
  );
}

export function workspacesOfProject(root: string, projectId: number): string[] {
  return places.flatMap(({ parent, ofProject }) => within(join(root, parent, ofProject(projectId))));
}

function within(folder: string): string[] {
  return foldersIn(folder).map((name) => join(folder, name));
}

/** Names of folders. Files are skipped, and so are folders that only another user may read. */
export function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch {
    return [];
  }
}
