import { readFileSync } from "node:fs";
import { Fault } from "../../errors.ts";

/** Files that the program itself needs: database, broker, requests in flight. */
const reservedFiles = 500;
/** With fewer, a server would have hardly any connections. */
const minFiles = 1024;

/** How many sockets this process can open; infinite if the system has no /proc. */
export function socketLimit(): number {
  return openFileLimit() - reservedFiles;
}

/** Called before a server starts. The runtime has already raised the limit to the highest that the system allows it. */
export function requireOpenFiles(): void {
  const limit = openFileLimit();
  if (limit >= minFiles) return;
  throw new Fault(
    "invalid",
    `This process may open only ${limit} files, and a server needs ${minFiles} or more. Raise the limit before the start: ` +
      "`ulimit -n 65536` in the shell, LimitNOFILE=65536 in a systemd unit, or --ulimit nofile=65536 for a container.",
  );
}

/** Infinite: not known, or no limit. */
function openFileLimit(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
