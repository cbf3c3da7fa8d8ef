import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A workspace with more references is not read: each costs a process of git. */
const referencesMax = 100;
const fileMaxBytes = 1024 ** 2;
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** What the git of a workspace may read from the clone: the history of `ids` down to the commits in `shallow`. */
export interface Borrowed {
  /** Its refs, and where its HEAD has been. */
  ids: string[];
  shallow: string[];
}

/**
 * Null: not known. The files belong to the project's scripts, so that they are read without running git in the
 * workspace.
 */
export function borrowedBy(source: string): Borrowed | null {
  const folder = join(source, ".git");
  try {
    // The folder of a task that has checked out nothing yet.
    if (!isThere(source)) return { ids: [], shallow: [] };
    const names = readdirSync(folder);
    // Their references are elsewhere, or in another format.
    if (names.includes("worktrees") || names.includes("reftable")) return null;
    const heads = names.filter((name) => /^[A-Z_]*HEAD$/.test(name) || name === "packed-refs");
    const found = new Set<string>();
    for (const file of filesIn(folder, [...heads, "logs/HEAD"], ["refs"])) {
      for (const id of idsIn(file)) found.add(id);
      if (found.size > referencesMax) return null;
    }
    return { ids: [...found], shallow: shallowCommits(folder) };
  } catch {
    return null;
  }
}

/** The commits without parents in a shallow repository. */
export function shallowCommits(gitFolder: string): string[] {
  const file = join(gitFolder, "shallow");
  return isThere(file) ? idsIn(file) : [];
}

/** Unlike `existsSync`, throws if it is not known. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

function* filesIn(folder: string, files: string[], folders: string[]): Generator<string> {
  for (const name of files) yield join(folder, name);
  for (const name of folders) {
    const inner = join(folder, name);
    const entries = readdirSync(inner, { withFileTypes: true });
    const namesOf = (isFolder: boolean) =>
      entries.filter((entry) => entry.isDirectory() === isFolder).map((entry) => entry.name);
    yield* filesIn(inner, namesOf(false), namesOf(true));
  }
}

/** A script may have put a pipe or a link in the place of the file. */
function idsIn(file: string): string[] {
  const descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > fileMaxBytes) throw new Error(`${file} is not a list of references`);
    const ids = readFileSync(descriptor, "utf8").match(/\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b/g) ?? [];
    return ids.filter((id) => !/^0+$/.test(id));
  } finally {
    closeSync(descriptor);
  }
}
