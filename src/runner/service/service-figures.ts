import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessTable } from "../keeper/process-table.ts";

export interface Figures {
  memoryBytes: number | null;
  /** Share of one processor since the measurement before. */
  cpu: number | null;
}

const ticksPerSecond = 100;
const pageBytes = 4096;
const none: Figures = { memoryBytes: null, cpu: null };

/** Memory and processor time of a service: of its control group, else the sum of its processes. */
export function openFigures() {
  let last = none;
  let before: { at: number; seconds: Map<number, number> } | null = null;

  function used(own: ReadonlySet<number>, table: ProcessTable, group: string | null) {
    const ofGroup = group === null ? null : groupFigures(group);
    if (ofGroup !== null) return ofGroup;
    let memoryBytes = 0;
    const seconds = new Map<number, number>();
    for (const pid of own) {
      const row = table.get(pid);
      if (row === undefined) continue;
      memoryBytes += row.pages * pageBytes;
      seconds.set(pid, row.ticks / ticksPerSecond);
    }
    return { memoryBytes, seconds };
  }

  return {
    measure(own: ReadonlySet<number>, table: ProcessTable, group: string | null): void {
      const at = performance.now();
      const { memoryBytes, seconds } = used(own, table, group);
      const spent = [...seconds].reduce(
        (sum, [pid, now]) => sum + Math.max(0, now - (before?.seconds.get(pid) ?? 0)),
        0,
      );
      const cpu = before === null ? null : spent / Math.max(0.001, (at - before.at) / 1000);
      last = { memoryBytes, cpu };
      before = { at, seconds };
    },
    clear(): void {
      last = none;
      before = null;
    },
    last: () => last,
  };
}

function groupFigures(group: string): { memoryBytes: number; seconds: Map<number, number> } | null {
  try {
    const memoryBytes = Number(readFileSync(join(group, "memory.current"), "utf8"));
    const text = readFileSync(join(group, "cpu.stat"), "utf8");
    const microseconds = Number(/^usage_usec (\d+)$/m.exec(text)?.[1]);
    return { memoryBytes, seconds: new Map([[0, microseconds / 1_000_000]]) };
  } catch {
    return null;
  }
}
