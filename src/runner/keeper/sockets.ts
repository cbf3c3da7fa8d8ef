import { readFileSync } from "node:fs";

/** The TCP sockets of this machine at one moment. */
export interface Sockets {
  /** Inodes of those that listen on the port. */
  listening(port: number): string[];
  /** How many connections there are from or to the port: one to a container has no other end here. */
  connections(port: number): number;
}

const isListening = "0A";
const isEstablished = "01";

/** Empty where there is no /proc. The second and third column are the addresses, the fourth is the state, the tenth the inode. */
export function readSockets(): Sockets {
  const rows = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap(linesOf).map((line) => line.trim().split(/\s+/));
  const endOf = (port: number) => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return {
    listening: (port) =>
      rows
        .filter(([, local, , state]) => state === isListening && local?.endsWith(endOf(port)))
        .flatMap((columns) => columns[9] ?? []),
    connections: (port) =>
      rows.filter(
        ([, local, remote, state]) =>
          state === isEstablished && (local?.endsWith(endOf(port)) || remote?.endsWith(endOf(port))),
      ).length,
  };
}

let last: { at: number; sockets: Sockets } | null = null;

/** At most this old. A read takes milliseconds, because the kernel walks through its whole table, so that projects share it. */
export function recentSockets(maxAgeMs: number): Sockets {
  if (last === null || performance.now() - last.at > maxAgeMs)
    last = { sockets: readSockets(), at: performance.now() };
  return last.sockets;
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").slice(1);
  } catch {
    return [];
  }
}
