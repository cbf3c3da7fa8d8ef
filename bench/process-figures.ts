import { readFileSync } from "node:fs";

const msPerTick = 10;

/** The process, its children, and theirs. */
export function treeOf(pid: number): number[] {
  const children = readOf(pid, `task/${pid}/children`).trim();
  return [pid, ...(children === "" ? [] : children.split(" ").map(Number)).flatMap(treeOf)];
}

/** Empty: the process has ended since it was listed. */
function readOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

/** User and system time of the process. */
export function cpuMsOf(pid: number): number {
  const [user = 0, system = 0] = timesOf(pid);
  return user + system;
}

/** With children that have ended: a launcher may have started other programs before it became the program. */
export function cpuMsWithEndedOf(pid: number): number {
  return timesOf(pid).reduce((sum, value) => sum + value, 0);
}

function timesOf(pid: number): number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).map((ticks) => Number(ticks) * msPerTick);
}

/** Proportional set size: a page that several processes share is divided among them. 0: the process has ended. */
export function pssBytesOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(readOf(pid, "smaps_rollup"))?.[1] ?? 0) * 1024;
}

/** The arguments of the process, the program first. */
export function argumentsOf(pid: number): string[] {
  return readOf(pid, "cmdline").split("\0").filter(Boolean);
}
