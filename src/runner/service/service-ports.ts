import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { ReasonError } from "../../errors.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { FileCalls } from "../../system/file-calls.ts";
import { holdersOf, listeningSockets } from "../keeper/port-holders.ts";

export interface PortRange {
  first: number;
  last: number;
}

const lockPatienceMs = 10_000;
const pollEveryMs = 20;

/**
 * Chooses a port that no service has and nobody listens on. `record` writes it down, while no other process of this runner's
 * folder can choose.
 */
export async function reservePort(
  root: string,
  { first, last }: PortRange,
  { calls, taken, record }: { calls: FileCalls; taken(): Set<number>; record(port: number): void },
): Promise<number> {
  const lock = openSync(join(root, "ports"), "a", 0o600);
  try {
    const giveUpAt = performance.now() + lockPatienceMs;
    while (!calls.lock(lock)) {
      if (performance.now() > giveUpAt) throw new Error(`another process holds ${join(root, "ports")}`);
      await Bun.sleep(pollEveryMs);
    }
    const used = taken();
    const count = last - first + 1;
    // Runners of one machine may have the same range: they begin at different places.
    const begin = Math.floor(Math.random() * count);
    for (let step = 0; step < count; step += 1) {
      const port = first + ((begin + step) % count);
      if (used.has(port) || listeningSockets(port).length > 0) continue;
      record(port);
      return port;
    }
    throw new ReasonError(newReason("no_port", { first, last }));
  } finally {
    closeSync(lock);
  }
}

/** Why the answer on a port is not that of the service; null: it is. */
export function foreignListener(port: number, own: ReadonlySet<number>): Reason | null {
  const sockets = listeningSockets(port);
  const foreign = sockets.filter((socket) => !holdersOf([socket]).some(({ pid }) => own.has(pid)));
  if (sockets.length > 0 && foreign.length === 0) return null;
  if (sockets.length === 0) return newReason("port_not_own", { port });
  const [holder] = holdersOf(foreign);
  if (holder === undefined) return newReason("port_taken_user", { port });
  return newReason("port_taken", { port, name: holder.name, pid: holder.pid });
}
