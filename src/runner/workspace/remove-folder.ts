import { existsSync } from "node:fs";
import { chmod, lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../errors.ts";

/** Removes a folder even if a build made parts of it read-only, as package caches do. */
export async function removeFolder(folder: string, remove: typeof rm = rm): Promise<void> {
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

/**
 * Best effort. Folders of another user stay unchanged: processes of the scripts' user could put a link in the place of
 * one while a runner that is root changes it.
 */
async function makeWritable(folder: string): Promise<void> {
  try {
    const found = await lstat(folder);
    if (!found.isDirectory() || found.uid !== process.getuid?.()) return;
    await chmod(folder, 0o700);
    for (const name of await readdir(folder)) await makeWritable(join(folder, name));
  } catch {
    // The removal that follows reports the obstacle.
  }
}
