import { statSync } from "node:fs";
import { join } from "node:path";
import { foldersIn } from "./folders.ts";

/** A clone that no task used for this long is removed; the next task clones again. */
const unusedMs = 90 * 24 * 3_600_000;

/** Removes clones that are not used, such as those of deleted projects; returns how many. */
export async function sweepClones(
  root: string,
  now: number,
  tryToRemove: (folder: string) => Promise<boolean>,
): Promise<number> {
  let swept = 0;
  for (const name of foldersIn(join(root, "cache"))) {
    const cache = join(root, "cache", name);
    // A runner of another version may be finishing its tasks in the same folder.
    const usedAt = statSync(cache, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (now - usedAt >= unusedMs && (await tryToRemove(cache))) swept += 1;
  }
  return swept;
}
