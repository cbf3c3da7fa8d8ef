import { readlinkSync } from "node:fs";
import { processIds, readProc } from "../process/process-tree.ts";

interface ProcessRow {
  parent: number;
  session: number;
  /** Clock ticks since boot. */
  startedAt: string;
  /** Processor time in clock ticks. */
  ticks: number;
  pages: number;
}

/** All living processes of the machine at one moment. */
export type ProcessTable = ReadonlyMap<number, ProcessRow>;

export function readProcessTable(): ProcessTable {
  const table = new Map<number, ProcessRow>();
  for (const pid of processIds() ?? []) {
    const text = readProc(pid, "stat");
    if (text === null) continue;
    // The name, in parentheses, may itself contain spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") continue;
    table.set(pid, {
      parent: Number(fields[1]),
      session: Number(fields[3]),
      ticks: Number(fields[11]) + Number(fields[12]),
      startedAt: fields[19] ?? "",
      pages: Number(fields[21]),
    });
  }
  return table;
}

/** A process with all that it has started, and what is left in its session if it leads one. */
export function processesOf(root: number, table: ProcessTable): Set<number> {
  const children = new Map<number, number[]>();
  for (const [pid, { parent }] of table) children.set(parent, [...(children.get(parent) ?? []), pid]);
  const found = new Set<number>();
  const leads = table.get(root)?.session === root;
  const open = [
    root,
    ...(leads ? [...table].filter(([, row]) => row.session === root).map(([pid]) => pid) : []),
  ];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    if (found.has(pid) || !table.has(pid)) continue;
    found.add(pid);
    open.push(...(children.get(pid) ?? []));
  }
  return found;
}

/** Processes that have this file open as this descriptor. */
export function holdersOfFile(descriptor: number, file: string): number[] {
  return (processIds() ?? []).filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${descriptor}`) === file;
    } catch {
      // It has ended, has no such descriptor, or belongs to another user.
      return false;
    }
  });
}
