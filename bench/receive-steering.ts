import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";

const setting = "/sys/class/net/lo/queues/rx-0/rps_cpus";
const serverCpu = "0";
const loadCpu = "1";
/** A bit for each processor. */
const loadCpuMask = "2";

/**
 * On loopback the receiving half of TCP runs inside the sender's `send` and is charged to the server, although on a network
 * another machine does that work. Receive packet steering moves it to the processor of the load generators, which needs root
 * and two processors. Returns the result of `measure`, or undefined if that is not possible.
 */
export async function withReceivingElsewhere<T>(
  pids: { servers: number[]; loads: number[] },
  measure: () => Promise<T>,
): Promise<T | undefined> {
  if (process.getuid?.() !== 0 || availableParallelism() < 2) return undefined;
  let before: string;
  try {
    before = readFileSync(setting, "utf8").trim();
    writeFileSync(setting, loadCpuMask);
  } catch {
    return undefined;
  }
  try {
    for (const pid of pids.servers) keepOn(serverCpu, pid);
    for (const pid of pids.loads) keepOn(loadCpu, pid);
    return await measure();
  } finally {
    writeFileSync(setting, before);
  }
}

function keepOn(cpu: string, pid: number): void {
  Bun.spawnSync(["taskset", "-a", "-c", "-p", cpu, String(pid)]);
}
