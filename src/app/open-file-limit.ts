import { readFileSync } from "node:fs";

/** Files that the program itself needs: database, broker, requests in flight. */
const reservedFiles = 500;

/** How many sockets this process can open; infinite if the system has no /proc. */
export function socketLimit(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN);
    return Number.isNaN(soft) ? Number.POSITIVE_INFINITY : Math.max(1, soft - reservedFiles);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
