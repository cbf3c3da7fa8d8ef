import { readdirSync, readFileSync } from "node:fs";
import { steadyClock } from "../../clock.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { type RunningContainer, removeContainer } from "./container.ts";
import { isMoved, membersOf, removeControlGroup } from "./control-group.ts";

/**
 * The processes of one stage. They share a session (the script is started by setsid) and have a mark in their
 * environment; a child that leaves the session keeps the mark. A control group or a reaper finds those that cleared their
 * environment too. Without /proc, only the process group is known.
 */
export interface ProcessTree {
  /** Process id of the script, also of its group and session. */
  leader: number;
  mark: string;
  /** Folder of the control group of all its processes. */
  group?: string;
  /** If the script runs in a container, `leader` is the engine's client. */
  container?: RunningContainer;
  /** `leader` is bwrap: with it everything in its namespace of processes ends. */
  isSandbox?: boolean;
}

/** Name of the environment variable that carries the mark. */
export const markVariable = "SLIPWAY_RUN_MARK";

const pollEveryMs = 20;
/** A process that SIGKILL has not ended by then belongs to another user, or is blocked in the kernel. */
const killPatienceMs = 5000;

type Signal = "SIGTERM" | "SIGKILL" | 0;
/** Whether the process exists and may be signalled. */
export type SendSignal = (pid: number, signal: Signal) => boolean;

/** When SIGKILL follows a SIGTERM, by steadyClock. Read repeatedly, because it may become sooner. */
export type KillAt = (termedAt: number) => number;

/**
 * Sends SIGTERM to all processes, then SIGKILL. Returns the processes that are still alive, normally none; without
 * /proc, their group as a negative number.
 */
export async function endTree(
  tree: ProcessTree,
  killAt: KillAt,
  send: SendSignal = sendSignal,
): Promise<number[]> {
  if (tree.isSandbox) return endSandbox(tree.leader, killAt, send);
  // The client passes SIGTERM on to the container; a client that was killed leaves its container running.
  const survivors = await endAll(() => targetsOf(tree), killAt, send);
  if (tree.group) removeControlGroup(tree.group);
  if (tree.container) await removeContainer(tree.container);
  return survivors;
}

/** SIGTERM goes to the processes inside: bwrap itself would end them without a word. */
function endSandbox(leader: number, killAt: KillAt, send: SendSignal): Promise<number[]> {
  const find = withDescendants(() => livingProcesses((pid) => pid === leader));
  const isAlone = find().length === 1;
  const term: SendSignal = (pid, signal) =>
    signal === "SIGTERM" && pid === leader && !isAlone ? true : send(pid, signal);
  return endFound(find, killAt, term);
}

/** The same for processes of which only the mark is certain, because pids are reused. */
export async function endMarked({ mark, group, container }: ProcessTree, graceMs: number): Promise<number[]> {
  const survivors = await endAll(
    () => livingProcesses(isIn(group, (pid) => hasMark(pid, mark))),
    (termedAt) => termedAt + graceMs,
    sendSignal,
  );
  if (group) removeControlGroup(group);
  if (container) await removeContainer(container);
  return survivors;
}

/** For people: the remaining processes, which they must end themselves. */
export function survivorsText(what: string, survivors: number[]): Reason {
  return newReason("processes_left", { what, pids: survivors.map(Math.abs).join(", ") });
}

/** Living processes of a session; without /proc, the process group as a negative number. */
export function sessionMembers(leader: number): number[] {
  if (processIds() === null) return sendSignal(-leader, 0) ? [-leader] : [];
  return livingProcesses((_pid, status) => status.session === leader);
}

/** Living processes that carry the mark and have left the session. */
export function detachedMembers({ leader, mark }: ProcessTree): number[] {
  return livingProcesses((pid, status) => status.session !== leader && hasMark(pid, mark));
}

/** Ends only the processes that `find` returns: their children with sessions of their own continue. */
export function endOnly(find: () => number[], graceMs: number): Promise<number[]> {
  return endFound(find, (termedAt) => termedAt + graceMs, sendSignal);
}

/**
 * Processes that this one, or a descendant of it, has started, also those whose parent has ended if this is their reaper.
 * A container that a script has started belongs to its engine.
 */
export function livingDescendants(): number[] {
  return withDescendants(() => [process.pid])().filter((pid) => pid !== process.pid && !isMoved(pid));
}

/** Ends them, without this process itself. */
export function endDescendants(graceMs: number): Promise<number[]> {
  return endOnly(livingDescendants, graceMs);
}

export function isTreeAlive(tree: ProcessTree): boolean {
  return targetsOf(tree).length > 0;
}

function endAll(findNow: () => number[], killAt: KillAt, send: SendSignal): Promise<number[]> {
  return endFound(withDescendants(findNow), killAt, send);
}

async function endFound(find: () => number[], killAt: KillAt, send: SendSignal): Promise<number[]> {
  for (const target of find()) send(target, "SIGTERM");
  const termedAt = steadyClock.now();
  while (steadyClock.now() < killAt(termedAt)) {
    if (find().length === 0) return [];
    await Bun.sleep(pollEveryMs);
  }
  // Repeated, because a process may fork before it is killed.
  const giveUpAt = steadyClock.now() + killPatienceMs;
  for (;;) {
    const alive = find();
    if (alive.length === 0 || steadyClock.now() > giveUpAt) return alive;
    for (const target of alive) send(target, "SIGKILL");
    await Bun.sleep(pollEveryMs);
  }
}

/**
 * Adds the descendants of the processes found so far, also after their parent has ended: a child with its own session and
 * an empty environment can be found only by its parent.
 */
function withDescendants(find: () => number[]): () => number[] {
  const seen = new Map<number, string>();
  return () => {
    const found = new Set(find());
    const running = new Map<number, ProcessStatus>();
    for (const pid of processIds() ?? []) {
      const status = statusOf(pid);
      if (status !== null && status.state !== "Z" && pid !== process.pid) running.set(pid, status);
    }
    for (const [pid, { startedAt }] of running) if (seen.get(pid) === startedAt) found.add(pid);
    let sizeBefore = -1;
    while (sizeBefore !== found.size) {
      sizeBefore = found.size;
      for (const [pid, { parent }] of running) if (found.has(parent)) found.add(pid);
    }
    for (const [pid, { startedAt }] of running) if (found.has(pid)) seen.set(pid, startedAt);
    return [...found];
  };
}

/** Living processes of the session or with the mark; without /proc, the group as a whole (a negative pid). */
function targetsOf(tree: ProcessTree): number[] {
  if (processIds() === null) return sendSignal(-tree.leader, 0) ? [-tree.leader] : [];
  return livingProcesses(
    isIn(tree.group, (pid, status) => status.session === tree.leader || hasMark(pid, tree.mark)),
  );
}

type IsWanted = (pid: number, status: ProcessStatus) => boolean;

function isIn(group: string | undefined, isWanted: IsWanted): IsWanted {
  const members = new Set(group === undefined ? [] : membersOf(group));
  return (pid, status) => members.has(pid) || isWanted(pid, status);
}

function livingProcesses(isWanted: IsWanted): number[] {
  return (processIds() ?? []).filter((pid) => {
    const status = statusOf(pid);
    // A zombie disappears when its parent waits for it.
    if (status === null || status.state === "Z" || pid === process.pid) return false;
    return isWanted(pid, status);
  });
}

function sendSignal(pid: number, signal: Signal): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

export function hasMark(pid: number, mark: string): boolean {
  return readProc(pid, "environ")?.includes(`${markVariable}=${mark}\0`) ?? false;
}

export function processIds(): number[] | null {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return null;
  }
}

export interface ProcessStatus {
  state: string;
  parent: number;
  session: number;
  /** Clock ticks since boot: together with the pid, they identify a process. */
  startedAt: string;
}

export function statusOf(pid: number): ProcessStatus | null {
  const text = readProc(pid, "stat");
  if (text === null) return null;
  // The name, in parentheses, may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    state: fields[0] ?? "",
    parent: Number(fields[1]),
    session: Number(fields[3]),
    startedAt: fields[19] ?? "",
  };
}

export function readProc(pid: number, name: "stat" | "environ" | "comm"): string | null {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return null;
  }
}

/** A process in a form that can be stored and recognised later, although pids are reused. */
export interface ProcessIdentity {
  pid: number;
  startedAt: string;
}

export function identityOf(pid: number): ProcessIdentity {
  return { pid, startedAt: statusOf(pid)?.startedAt ?? "" };
}

export function isSameProcessAlive(identity: ProcessIdentity): boolean {
  const status = statusOf(identity.pid);
  if (status === null) return processIds() === null && sendSignal(identity.pid, 0);
  return status.state !== "Z" && status.startedAt === identity.startedAt;
}
