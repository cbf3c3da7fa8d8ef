import { machineClock } from "../../clock.ts";
import { endTree, isSameProcessAlive, type ProcessIdentity, treeOf } from "../process/process-tree.ts";

/**
 * What a start script of a version before 2.0 has left running, as that version recorded it in the state of the workspace. It
 * runs until the first deploy of its project.
 */
export interface FormerService {
  tree: { leader: number };
  boot: string;
  processes: ProcessIdentity[];
}

export interface FormerServices {
  areAny(): boolean;
  end(): Promise<void>;
}

/** The number of a session is used again only after its last process has ended. */
export function isFormerAlive({ boot, processes }: FormerService): boolean {
  return boot === machineClock()?.boot && processes.some(isSameProcessAlive);
}

/** Those of one project. */
export function openFormerServices(find: () => FormerService[], graceMs: number): FormerServices {
  return {
    areAny: () => find().length > 0,
    async end() {
      for (const { tree } of find()) await endTree(treeOf(tree.leader), (termedAt) => termedAt + graceMs);
    },
  };
}
