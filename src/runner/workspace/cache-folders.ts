import {
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { megabytes } from "../../model/service/disk-use.ts";
import type { RunTask } from "../protocol.ts";
import { diskUseOf } from "./disk-use.ts";
import { removeFolder } from "./remove-folder.ts";

/** A cache that no task used for this long is removed at the start of a runner. */
const unusedMs = 90 * 24 * 3_600_000;

interface Owner {
  uid: number;
  gid: number;
}

/** A folder of the workspace that is a link to a cache. */
export interface LinkedFolder {
  path: string;
  link: string;
  kept: string;
}

/** Folders of a project that survive its tasks, in one folder of the runner for each trust level. */
export function openCacheFolders(
  root: string,
  instruction: Pick<RunTask, "projectId" | "cacheScope">,
  /** The account that runs the scripts, if it is not the runner's own. */
  owner: Owner | null,
) {
  const folder = join(root, "shared", nameOf(instruction));
  /** Scripts own these folders, and may have left a link or a file in the place of one. */
  const make = (path: string) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return;
    if (found) unlinkSync(path);
    mkdirSync(path, { mode: 0o700 });
    // Processes of the owner may already have put a link to a file of root in its place.
    if (owner !== null) lchownSync(path, owner.uid, owner.gid);
  };
  const keptAt = (parts: string[]) => join(folder, encodeURIComponent(parts.join("/")));
  return {
    folder,
    /** Links each folder into the workspace, or makes an empty one there; returns messages for the log. */
    async link(source: string, paths: string[], isEmpty = false): Promise<string[]> {
      mkdirSync(join(root, "shared"), { recursive: true, mode: 0o711 });
      // Such as that of an earlier setting of the runner: this account could not enter it.
      const found = lstatSync(folder, { throwIfNoEntry: false });
      if (owner !== null && found && found.uid !== owner.uid) await removeFolder(folder);
      make(folder);
      utimesSync(folder, new Date(), new Date());
      const said: string[] = [];
      for (const path of paths.filter((each) => !isOfHome(each))) {
        const parts = partsOf(path);
        const fault = faultOf(source, parts);
        if (fault !== null) {
          said.push(`[the folder ${path} is not cached: ${fault}]`);
          continue;
        }
        for (let depth = 1; depth < parts.length; depth++) make(join(source, ...parts.slice(0, depth)));
        if (isEmpty) {
          make(join(source, ...parts));
          continue;
        }
        make(keptAt(parts));
        symlinkSync(keptAt(parts), join(source, ...parts));
      }
      return said;
    },
    /** Links the folders below `~/` into a new HOME. */
    linkHome(home: string, paths: string[]): void {
      for (const path of paths.filter(isOfHome)) {
        const parts = partsOf(path.slice("~/".length));
        if (parts.length === 0 || parts.includes("..")) continue;
        for (let depth = 1; depth < parts.length; depth++) make(join(home, ...parts.slice(0, depth)));
        make(keptAt(["~", ...parts]));
        symlinkSync(keptAt(["~", ...parts]), join(home, ...parts));
      }
    },
    /** The folders that are still links as `link` made them: a build may have removed or replaced them. */
    linked(source: string, paths: string[]): LinkedFolder[] {
      return paths
        .filter((each) => !isOfHome(each))
        .flatMap((path) => {
          const parts = partsOf(path);
          const link = join(source, ...parts);
          const kept = keptAt(parts);
          const isWithin = parts.every((_part, depth) => isFolder(join(source, ...parts.slice(0, depth))));
          if (!isWithin || !isFolder(kept) || linkTarget(link) !== kept) return [];
          return [{ path, link, kept }];
        });
    },
    /**
     * After a task: empties the cache if it is too large; returns the line for the log, or null. Never throws: what
     * happens to the cache does not change the result of the task.
     */
    async limit(maxBytes: number, log: Logger): Promise<string | null> {
      try {
        const bytes = (await diskUseOf([folder])) ?? 0;
        if (bytes <= maxBytes) return null;
        await removeFolder(folder);
        return `[the cache had ${megabytes(bytes)}, more than the ${megabytes(maxBytes)} of runner.cacheMaxBytes: it was emptied]`;
      } catch (error) {
        log.error({ folder }, messageOf(error));
        return `[the cache may be larger than runner.cacheMaxBytes and could not be emptied: ${messageOf(error)}]`;
      }
    },
  };
}

/** Removes caches that no task has used for a long time, such as those of deleted projects. Failures are logged. */
export async function sweepCacheFolders(root: string, now: number, log: Logger): Promise<void> {
  const shared = join(root, "shared");
  try {
    for (const name of existsSync(shared) ? readdirSync(shared) : []) {
      const folder = join(shared, name);
      const usedAt = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? now;
      if (now - usedAt <= unusedMs) continue;
      await removeFolder(folder).catch((error: unknown) => log.error({ folder }, messageOf(error)));
    }
  } catch (error) {
    log.error({ folder: shared, error: messageOf(error) }, "unused caches could not be removed");
  }
}

function nameOf({ projectId, cacheScope }: Pick<RunTask, "projectId" | "cacheScope">): string {
  if (cacheScope === "protected") return `protected-${projectId}`;
  return cacheScope === "other" ? `project-${projectId}` : cacheScope.replace("-", `-${projectId}-`);
}

function isOfHome(path: string): boolean {
  return path.startsWith("~/");
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** A repository may contain links, so no part of the path may be a link. */
function faultOf(source: string, parts: string[]): string | null {
  if (parts.length === 0 || parts.includes("..") || parts[0] === ".git")
    return "it is not a folder below the workspace";
  let place = source;
  for (const part of parts) {
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (found && !found.isDirectory()) return "the repository has a file or a link on the way";
    place = join(place, part);
  }
  return lstatSync(place, { throwIfNoEntry: false }) ? "the repository has something of that name" : null;
}
