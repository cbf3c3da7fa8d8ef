import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Borrowed, borrowedBy, shallowCommits } from "./borrowed-objects.ts";
import type { GitResult } from "./git-result.ts";

type Git = (args: string[]) => Promise<GitResult>;

/** Each fetch adds a pack; above this number they are merged. */
const packsMax = 50;
const filesOfPack = 3;
/** A fetch that still runs has written to its file within this time. */
const unfinishedMs = 24 * 3_600_000;
const pins = "refs/slipway/borrowed/";

/**
 * Keeps a cached clone small: removes what killed fetches left, and at times the objects of two weeks ago that neither
 * the clone nor a workspace in `borrowers` needs (null: they are not known).
 */
export async function careForClone(clone: string, borrowers: string[] | null, git: Git): Promise<void> {
  const packs = join(clone, "objects/pack");
  removeUnfinished(packs);
  const files = readdirSync(packs).filter((name) => name.startsWith("pack-"));
  if (files.length <= packsMax * filesOfPack) return;
  const inClone = (...args: string[]) => git(["--git-dir", clone, ...args]);
  try {
    await removePins(inClone);
    if (borrowers && (await pin(clone, borrowers, inClone)) && (await collect(inClone))) return;
  } finally {
    await removePins(inClone);
  }
  // What is borrowed is not known, so that everything stays.
  await inClone("repack", "-a", "-d", "--keep-unreachable", "--quiet");
}

type InClone = (...args: string[]) => Promise<GitResult>;

/** Names the borrowed objects in the clone, because git removes objects without a name. False: some are not known. */
async function pin(clone: string, borrowers: string[], inClone: InClone): Promise<boolean> {
  for (const source of borrowers) {
    const borrowed = borrowedBy(source);
    if (borrowed === null) return false;
    // Git refuses an id whose object is not in the clone: its history may be, and nothing would name that.
    for (const id of borrowed.ids)
      if ((await inClone("update-ref", `${pins}${id}`, id)).exitCode !== 0) return false;
    if (borrowed.ids.length > 0 && !(await isWhole(clone, borrowed, inClone))) return false;
  }
  return true;
}

/** Whether the clone still has all commits that the workspace sees: a later fetch may have cut its history shorter. */
async function isWhole(clone: string, { ids, shallow }: Borrowed, inClone: InClone): Promise<boolean> {
  const file = join(clone, "shallow-borrowed");
  const count = async (cuts: string[]) => {
    writeFileSync(file, cuts.map((id) => `${id}\n`).join(""));
    const { exitCode, output } = await inClone("--shallow-file", file, "rev-list", "--count", ...ids);
    return exitCode === 0 ? output : null;
  };
  try {
    const seen = await count(shallow);
    return seen !== null && seen === (await count([...new Set([...shallow, ...shallowCommits(clone)])]));
  } catch {
    // Such as a full disk: no reason to fail the task.
    return false;
  } finally {
    rmSync(file, { force: true });
  }
}

async function removePins(inClone: InClone): Promise<void> {
  const { output } = await inClone("for-each-ref", "--format=%(refname)", pins);
  for (const ref of output.split("\n").filter((line) => line.startsWith(pins)))
    await inClone("update-ref", "-d", ref);
}

/**
 * Git removes nothing if an object that a ref reaches is missing. Without a commit graph, which could name commits that were
 * removed.
 */
async function collect(inClone: InClone): Promise<boolean> {
  const settings = ["gc.cruftPacks=true", "gc.writeCommitGraph=false", "repack.writeBitmaps=false"];
  const options = settings.flatMap((setting) => ["-c", setting]);
  return (await inClone(...options, "gc", "--quiet", "--prune=2.weeks.ago")).exitCode === 0;
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
