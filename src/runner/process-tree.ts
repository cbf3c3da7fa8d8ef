import { readdirSync, readFileSync } from "node:fs";

/**
 * The processes of one stage. They share a session (the script is started by setsid) and carry a mark in their
 * environment; a child that leaves the session keeps the mark. Where there is no /proc, the process group alone is
 * known.
 */
export interface ProcessTree {
  /** Process id of the script, also of its group and session. */
  leader: number;
  mark: string;
}

/** Name of the environment variable that carries the mark. */
export const markVariable = "SLIPWAY_RUN_MARK";

const pollEveryMs = 20;

/** SIGTERM to all of it, SIGKILL after `graceMs`. Resolves when nothing of it is alive. */
export function endTree(tree: ProcessTree, graceMs: number): Promise<void> {
  return endAll(() => targetsOf(tree), graceMs);
}

/** The same for processes of which only the mark is still sure, because pids are used again. */
export function endMarked(mark: string, graceMs: number): Promise<void> {
  return endAll(() => livingProcesses((pid) => hasMark(pid, mark)), graceMs);
}

export function isTreeAlive(tree: ProcessTree): boolean {
  return targetsOf(tree).length > 0;
}

async function endAll(find: () => number[], graceMs: number): Promise<void> {
  for (const target of find()) signalOne(target, "SIGTERM");
  const killAt = performance.now() + graceMs;
  while (performance.now() < killAt) {
    if (find().length === 0) return;
    await Bun.sleep(pollEveryMs);
  }
  // Repeated, because a process may fork between being seen and being killed.
  for (let alive = find(); alive.length > 0; alive = find()) {
    for (const target of alive) signalOne(target, "SIGKILL");
    await Bun.sleep(pollEveryMs);
  }
}

/** Living processes of the session or with the mark; without /proc, the group as a whole (a negative pid). */
function targetsOf(tree: ProcessTree): number[] {
  if (processIds() === null) return signalOne(-tree.leader, 0) ? [-tree.leader] : [];
  return livingProcesses((pid, status) => status.session === tree.leader || hasMark(pid, tree.mark));
}

function livingProcesses(isWanted: (pid: number, status: ProcessStatus) => boolean): number[] {
  return (processIds() ?? []).filter((pid) => {
    const status = statusOf(pid);
    // A zombie is gone as soon as its parent looks.
    if (status === null || status.state === "Z" || pid === process.pid) return false;
    return isWanted(pid, status);
  });
}

function signalOne(pid: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

function hasMark(pid: number, mark: string): boolean {
  return readProc(pid, "environ")?.includes(`${markVariable}=${mark}\0`) ?? false;
}

function processIds(): number[] | null {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return null;
  }
}

interface ProcessStatus {
  state: string;
  session: number;
  /** Clock ticks since boot: with the pid, it names a process for good. */
  startedAt: string;
}

function statusOf(pid: number): ProcessStatus | null {
  const text = readProc(pid, "stat");
  if (text === null) return null;
  // The name, in parentheses, may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    state: fields[0] ?? "",
    session: Number(fields[3]),
    startedAt: fields[19] ?? "",
  };
}

function readProc(pid: number, name: "stat" | "environ"): string | null {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return null;
  }
}

/** A process as it can be written down and recognised later, although pids are used again. */
export interface ProcessIdentity {
  pid: number;
  startedAt: string;
}

export function identityOf(pid: number): ProcessIdentity {
  return { pid, startedAt: statusOf(pid)?.startedAt ?? "" };
}

export function isSameProcessAlive(identity: ProcessIdentity): boolean {
  const status = statusOf(identity.pid);
  if (status === null) return processIds() === null && signalOne(identity.pid, 0);
  return status.state !== "Z" && status.startedAt === identity.startedAt;
}
