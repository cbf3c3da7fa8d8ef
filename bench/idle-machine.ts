import { readdirSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";

/** Above this load average per core at its start, or this share of the machine used or taken by others, nothing is published. */
export const maxLoadPerCore = 0.5;
export const maxShareOfOthers = 0.05;

const ticksPerSecond = 100;
const lookEveryMs = 2_000;

/** CPU time that a foreign process has used while it was watched. */
export interface ForeignProcess {
  pid: number;
  command: string;
  seconds: number;
}

/** What other programs used while a benchmark ran. */
export interface OthersUse {
  /** Of all cores together, 0 to 1. */
  share: number;
  /** Of all cores together: what the host gave to other machines while a process of this one wanted to run. */
  stolen: number;
  /** The largest first. */
  processes: ForeignProcess[];
}

export const loadPerCore = () => (loadavg()[0] ?? 0) / cpus().length;

/**
 * Watches the CPU time of every process that this one has not started. Kernel threads do not count: they work for the
 * measured programs. Nor does a measured process whose parent has ended. A process that ends between two looks counts up
 * to the last look that saw it.
 */
export function watchOthers(): { stop(): OthersUse } {
  const startedAt = performance.now();
  const stolenBefore = stolenSeconds();
  const seen = new Map<string, ForeignProcess & { first: number }>();
  const measured = new Set<string>();
  const look = (isFirst: boolean) => {
    const { own, foreign } = currentProcesses();
    for (const { key } of own) measured.add(key);
    for (const { key, pid, command, seconds } of foreign) {
      if (measured.has(key)) continue;
      const known = seen.get(key);
      if (known) known.seconds = seconds - known.first;
      else {
        const first = isFirst ? seconds : 0;
        seen.set(key, { pid, command, first, seconds: seconds - first });
      }
    }
  };
  look(true);
  const timer = setInterval(() => look(false), lookEveryMs);
  return {
    stop() {
      clearInterval(timer);
      look(false);
      const processes = [...seen.values()]
        .map(({ pid, command, seconds }) => ({ pid, command, seconds }))
        .filter(({ seconds }) => seconds > 0)
        .sort((a, b) => b.seconds - a.seconds);
      const used = processes.reduce((sum, { seconds }) => sum + seconds, 0);
      const all = ((performance.now() - startedAt) / 1_000) * cpus().length;
      return { share: used / all, stolen: (stolenSeconds() - stolenBefore) / all, processes };
    },
  };
}

/** Of all cores since the start of the machine. */
function stolenSeconds(): number {
  const [, , , , , , , , steal] = readFileSync("/proc/stat", "utf8").split(/\s+/, 9);
  return Number(steal) / ticksPerSecond;
}

interface ProcessStat {
  pid: number;
  parent: number;
  /** Tells a process from a later one with the same id. */
  key: string;
  command: string;
  seconds: number;
}

/** Those that this process has started, and those of others. */
function currentProcesses(): { own: ProcessStat[]; foreign: ProcessStat[] } {
  const all = new Map<number, ProcessStat>();
  for (const name of readdirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : null;
    if (stat) all.set(stat.pid, stat);
  }
  const isBelow = (pid: number, ancestor: number): boolean => {
    for (let at = pid; at > 0; at = all.get(at)?.parent ?? 0) if (at === ancestor) return true;
    return false;
  };
  const kernelThreads = 2;
  const isOwn = ({ pid }: ProcessStat) => isBelow(pid, process.pid);
  const isForeign = (stat: ProcessStat) => !isOwn(stat) && !isBelow(stat.pid, kernelThreads);
  return { own: [...all.values()].filter(isOwn), foreign: [...all.values()].filter(isForeign) };
}

function readStat(pid: number): ProcessStat | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the command in brackets, may contain spaces and brackets.
    const end = stat.lastIndexOf(")");
    const fields = stat.slice(end + 2).split(" ");
    return {
      pid,
      parent: Number(fields[1]),
      key: `${pid} ${fields[19]}`,
      command: stat.slice(stat.indexOf("(") + 1, end),
      seconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
    };
  } catch {
    return null; // it has ended
  }
}
