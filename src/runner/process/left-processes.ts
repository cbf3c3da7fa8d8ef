import {
  detachedMembers,
  identityOf,
  isSameProcessAlive,
  type ProcessTree,
  sessionMembers,
} from "./process-tree.ts";

/** The processes that a start script left in its session. */
export interface LeftProcesses {
  wereAny: boolean;
  /** The session is empty because its processes moved to sessions of their own, as daemons do. */
  haveDetached(): boolean;
  /** Every process has exited, and none lives on in another session. */
  haveExited(): boolean;
}

/** Looks when the script has ended: a daemon that was started in the background may leave the session only after that. */
export function findLeftProcesses(tree: ProcessTree): LeftProcesses {
  const left = sessionMembers(tree.leader).map(identityOf);
  const detachedBefore = new Set(detachedMembers(tree));
  const isSessionEmpty = () => sessionMembers(tree.leader).length === 0;
  const isElsewhere = () =>
    left.some(isSameProcessAlive) || detachedMembers(tree).some((pid) => !detachedBefore.has(pid));
  const seemGone = () => isSessionEmpty() && !isElsewhere();
  const wereAny = left.length > 0;
  return {
    wereAny,
    haveDetached: () => wereAny && isSessionEmpty() && isElsewhere(),
    // Twice, because a child of a process that exits during the first look may be missing in it.
    haveExited: () => wereAny && seemGone() && seemGone(),
  };
}
