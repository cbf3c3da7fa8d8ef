import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The workspaces of all projects in the folder of a runner. */
export function workspacesIn(root: string): string[] {
  const work = join(root, "work");
  return foldersIn(work).flatMap((project) =>
    foldersIn(join(work, project)).map((name) => join(work, project, name)),
  );
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
