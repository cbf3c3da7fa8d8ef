import { readdirSync, readFileSync } from "node:fs";
import { machineClock, steadyClock } from "../../clock.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { type RunningContainer, removeContainer } from "./container.ts";
import { membersOf, removeControlGroup } from "./control-group.ts";

/**
 * The processes of one script. They share a session, which the script leads; a control group, where there is one, also has
 * those that left it. Without either, a daemon whose parent has ended is not found.
 */
export interface ProcessTree {
  /** Process id of the script, also of its group and session. */
  leader: number;
  /** Clock ticks since boot, and which boot: pids are reused. */
  startedAt: string;
  boot: string;
  /** Folder of the control group of all its processes. */
  group?: string;
  /** If the script runs in a container, `leader` is the engine's client. */
  container?: RunningContainer;
  /** `leader` is bwrap: with it everything in its namespace of processes ends. */
  isSandbox?: boolean;
}

const boot = machineClock()?.boot ?? "";

/** The tree of a process that this one has just started. */
export function treeOf(leader: number): ProcessTree {
  return { leader, startedAt: statusOf(leader)?.startedAt ?? "", boot };
}

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
  const survivors = await endFound(
    withDescendants(() => targetsOf(tree)),
    killAt,
    send,
  );
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

/** The same for a tree that an earlier runner has recorded. */
export async function endRecorded(tree: ProcessTree, graceMs: number): Promise<number[]> {
  const status = statusOf(tree.leader);
  // The number of a session is free again only after its last process has ended.
  const isOurs = tree.boot === boot && (status === null || status.startedAt === tree.startedAt);
  if (isOurs) return endTree(tree, (termedAt) => termedAt + graceMs);
  if (tree.group) removeControlGroup(tree.group);
  if (tree.container) await removeContainer(tree.container);
  return [];
}

/** For people: the remaining processes, which they must end themselves. */
export function survivorsText(what: string, survivors: number[]): Reason {
  return newReason("processes_left", { what, pids: survivors.map(Math.abs).join(", ") });
}

export function isTreeAlive(tree: ProcessTree): boolean {
  return targetsOf(tree).length > 0;
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
 * Adds the descendants of the processes found so far, also after their parent has ended: a child with its own session can be
 * found only by its parent.
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

/** Living processes of the session and the control group; without /proc, the group as a whole (a negative pid). */
function targetsOf({ leader, group }: ProcessTree): number[] {
  if (processIds() === null) return sendSignal(-leader, 0) ? [-leader] : [];
  const members = new Set(group === undefined ? [] : membersOf(group));
  return livingProcesses((pid, status) => members.has(pid) || status.session === leader);
}

function livingProcesses(isWanted: (pid: number, status: ProcessStatus) => boolean): number[] {
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

export function readProc(pid: number, name: "stat" | "comm"): string | null {
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
