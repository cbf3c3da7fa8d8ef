import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { replaceFile } from "../../whole-file.ts";
import { livingMembers, type StartedService } from "../process/started-service.ts";

/** The services that start scripts of one project have left running on this machine, also under earlier runners. */
export interface Services {
  living(): StartedService[];
  /** Whether a service of this task was recorded and has ended. A service outside of its start's session never was. */
  hasEnded(taskId: number): boolean;
  add(service: StartedService): void;
}

/**
 * Stored in a file beside the workspaces, because a service may outlive the workspace that it was started from. The
 * services in `formerFile` are moved to `file` with the next one.
 */
export function openServices(file: string, formerFile: string | null): Services {
  const files = formerFile === null ? [file] : [file, formerFile];
  const recorded = () => {
    // A runner that was killed while it moved them has left some in both files.
    const known = new Map(files.flatMap(read).map((service) => [service.tree.mark, service]));
    return [...known.values()];
  };
  const isLiving = (service: StartedService) => livingMembers(service).length > 0;
  const living = () => recorded().filter(isLiving);
  return {
    living,
    hasEnded(taskId) {
      const ofTask = recorded().filter((service) => service.taskId === taskId);
      return ofTask.length > 0 && !ofTask.some(isLiving);
    },
    add(service) {
      const others = living().filter(({ tree }) => tree.mark !== service.tree.mark);
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      replaceFile(file, JSON.stringify([...others, service]));
      if (formerFile !== null) tryToRemove(formerFile);
    },
  };
}

/** A file that stays does no harm: it names services that the other file names too. */
function tryToRemove(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Such as the file of another user.
  }
}

/** Errors that mean that no service was recorded; a file of another user records services of another runner. */
const missing = ["ENOENT", "ENOTDIR", "EACCES"];

/** Any other error, such as too many open files, is no answer: a service that is forgotten is never ended. */
function read(file: string): StartedService[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (missing.includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
  try {
    return JSON.parse(text) as StartedService[];
  } catch {
    // A power loss may have emptied it.
    return [];
  }
}
