import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { GitResult } from "./git-result.ts";

/** Each fetch adds a pack; above this number they are merged. */
const packsMax = 50;
const filesOfPack = 3;
/** A fetch that still runs has written to its file within this time. */
const unfinishedMs = 24 * 3_600_000;

/** Keeps a cached clone small: removes what killed fetches left, and at times the objects of earlier fetches. */
export async function trimClone(clone: string, git: (args: string[]) => Promise<GitResult>): Promise<void> {
  const packs = join(clone, "objects/pack");
  removeUnfinished(packs);
  const files = readdirSync(packs).filter((name) => name.startsWith("pack-"));
  if (files.length > packsMax * filesOfPack)
    await git(["--git-dir", clone, "repack", "-a", "-d", "-q", "--no-write-bitmap-index"]);
}

/** Git leaves the pack of a fetch that was killed. */
function removeUnfinished(packs: string): void {
  for (const name of readdirSync(packs).filter((each) => each.startsWith("tmp_"))) {
    const file = join(packs, name);
    try {
      if (Date.now() - statSync(file).mtimeMs > unfinishedMs) rmSync(file, { force: true });
    } catch {
      // It is gone already, or belongs to another user.
    }
  }
}
