import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Leaves a process running in a session of its own, and records it in a kept workspace as version 1.0 did; returns its pid. */
export function leaveFormerService(workspace: string): number {
  const { pid } = Bun.spawn(["setsid", "sleep", "300"], { stdio: ["ignore", "ignore", "ignore"] });
  const startedAt = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[19] ?? "";
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const state = {
    ...{ state: "kept", owner: { pid: 1, startedAt: "0" }, trees: [], isRelease: true, keptAt: 1 },
    services: [{ tree: { leader: pid, startedAt, boot }, boot, processes: [{ pid, startedAt }] }],
  };
  writeFileSync(join(workspace, "state.json"), JSON.stringify(state));
  return pid;
}
