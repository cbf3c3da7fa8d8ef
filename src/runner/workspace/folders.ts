import { readdirSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { removeFolder } from "./remove-folder.ts";

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

/** The data of a project, which survives its releases. */
export function dataFolderOf(root: string, projectId: number): string {
  return join(root, "data", String(projectId));
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

/** NaN: not the folder of a task. Versions before 2.0 named it task-7-1. */
export function taskIdOf(folder: string): number {
  return Number(/^(?:task-)?(\d+)(?:-\d+)?$/.exec(basename(folder))?.[1]);
}

export function attemptOf(folder: string): number {
  return Number(/\d-(\d+)$/.exec(basename(folder))?.[1] ?? 1);
}

/** Moves a folder, also to another file system. */
export async function moveFolder(from: string, to: string): Promise<void> {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    const copied = Bun.spawn(["cp", "-a", "--", from, to], { stdout: "ignore", stderr: "pipe" });
    if ((await copied.exited) !== 0) throw new Error(await new Response(copied.stderr).text());
    await removeFolder(from);
  }
}
