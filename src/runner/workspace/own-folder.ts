import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { identityOf, isSameProcessAlive } from "../process/process-tree.ts";

/** Of this process, in names of folders. */
export function ownName(): string {
  const { pid, startedAt } = identityOf(process.pid);
  return `${pid}-${startedAt}`;
}

/** The folder in `parent` for files that must not outlive this process, such as the credentials of a checkout. */
export function ownFolderIn(parent: string): string {
  return join(parent, ownName());
}

/**
 * Removes such folders of processes that were killed. Those of other living processes stay: an earlier runner may be
 * finishing its tasks, and several servers may have the same data folder. Failures are logged.
 */
export function sweepOwnFolders(parent: string, log: Logger): void {
  for (const name of namesIn(parent)) {
    const folder = join(parent, name);
    try {
      if (!isOwnerAlive(name)) rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      log.error({ folder, error: messageOf(error) }, "files of a killed process could not be removed");
    }
  }
}

/** Whether the process of such a name still runs. */
export function isOwnerAlive(name: string): boolean {
  const [, pid, startedAt = ""] = /^(\d+)-(\d*)$/.exec(name) ?? [];
  return pid !== undefined && isSameProcessAlive({ pid: Number(pid), startedAt });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // It does not exist yet.
    return [];
  }
}
