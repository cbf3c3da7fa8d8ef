import { machineClock } from "../../clock.ts";
import {
  endOnly,
  hasMark,
  identityOf,
  isSameProcessAlive,
  type ProcessIdentity,
  type ProcessTree,
  sessionMembers,
} from "./process-tree.ts";

/** The processes that a start script left in its session, in a form that a later runner recognises. */
export interface StartedService {
  /** The task whose release it is, and the commit of that release. */
  taskId: number;
  commit: string;
  tree: ProcessTree;
  /** Process ids are unique within one boot of the machine only. */
  boot: string;
  processes: ProcessIdentity[];
  /** The port that the runner chose for it. */
  port: number | null;
}

const boot = machineClock()?.boot ?? "";

export function describeService(
  release: { taskId: number; commit: string },
  tree: ProcessTree,
  port: number | null,
): StartedService {
  const processes = sessionMembers(tree.leader).map(identityOf);
  return { taskId: release.taskId, commit: release.commit, tree, boot, processes, port };
}

/**
 * Its living processes. A session number is reused after its last process has ended, so at least one member must be
 * identified by its start time or its mark.
 */
export function livingMembers({ tree, boot: itsBoot, processes }: StartedService): number[] {
  if (itsBoot !== boot) return [];
  const members = sessionMembers(tree.leader);
  const isOurs = (pid: number) =>
    hasMark(pid, tree.mark) || processes.some((known) => known.pid === pid && isSameProcessAlive(known));
  return members.some(isOurs) ? members : [];
}

/** Ends only the session: a daemon that left it is managed elsewhere. Returns the processes that are still alive. */
export function endService(service: StartedService, graceMs: number): Promise<number[]> {
  return endOnly(() => livingMembers(service), graceMs);
}
