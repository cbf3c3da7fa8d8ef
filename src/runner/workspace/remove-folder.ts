import { existsSync } from "node:fs";
import { chmod, lstat, readdir, type rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../errors.ts";

/** Removes a folder even if a build made parts of it read-only, as package caches do. */
export async function removeFolder(folder: string, remove: typeof rm): Promise<void> {
  if (!existsSync(folder)) return;
  try {
    await remove(folder, { recursive: true, force: true });
  } catch {
    await makeWritable(folder);
    await remove(folder, { recursive: true, force: true }).catch((error: unknown) => {
      throw new Error(
        `The folder ${folder} could not be removed: ${messageOf(error)}. Remove it by hand, as the user its files belong to.`,
      );
    });
  }
}

/** Best effort: files of another user stay unchanged. */
async function makeWritable(folder: string): Promise<void> {
  try {
    if (!(await lstat(folder)).isDirectory()) return;
    await chmod(folder, 0o700);
    for (const name of await readdir(folder)) await makeWritable(join(folder, name));
  } catch {
    // The removal that follows reports the obstacle.
  }
}
