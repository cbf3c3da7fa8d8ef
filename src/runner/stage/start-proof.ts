import { networkInterfaces } from "node:os";
import { shortCommit } from "../../model/git/short-commit.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { holdersOf, listeningSockets, type PortHolder } from "../process/port-holders.ts";
import { processIds, statusOf } from "../process/process-tree.ts";
import { livingMembers, type StartedService } from "../process/started-service.ts";
import type { HealthCheck } from "./health-check.ts";

/** The state before a start script ran. */
export interface BeforeStart {
  /** The local port that the health check uses; null: none. */
  port: number | null;
  /** Start times by process id. */
  processes: Map<number, number>;
  sockets: string[];
}

export function lookBeforeStart(check: HealthCheck | null): BeforeStart {
  const port = localPortOf(check);
  if (port === null) return { port, processes: new Map(), sockets: [] };
  const processes = new Map<number, number>();
  for (const pid of processIds() ?? []) processes.set(pid, Number(statusOf(pid)?.startedAt));
  return { port, processes, sockets: listeningSockets(port) };
}

/**
 * Why the response on the checked port may come from another process than this start's; null: it does not. If the
 * script left no process, its service is managed elsewhere, for example by nginx or systemd: then only services of
 * earlier tasks count.
 */
export function heldByOthers(
  before: BeforeStart,
  earlier: StartedService[],
  hasLeftProcesses: boolean,
): Reason | null {
  const { port } = before;
  if (port === null) return null;
  const sockets = listeningSockets(port);
  const holders = holdersOf(sockets).filter(({ pid, startedAt }) => before.processes.get(pid) === startedAt);
  for (const holder of holders) {
    const service = earlier.find((known) => livingMembers(known).includes(holder.pid));
    if (service) return stillHeld(port, service.taskId, service.commit);
  }
  if (!hasLeftProcesses) return null;
  const [holder] = holders;
  if (holder) return describeHolder(port, holder);
  const isUnseen = holdersOf(sockets).length === 0 && sockets.some((inode) => before.sockets.includes(inode));
  return isUnseen ? newReason("port_held_user", { port }) : null;
}

function describeHolder(port: number, { task, name, pid }: PortHolder): Reason {
  if (task?.commit) return stillHeld(port, task.id, task.commit);
  return newReason("port_held_process", { port, name, pid });
}

function stillHeld(port: number, taskId: number, commit: string): Reason {
  return newReason("port_held_task", { port, task: taskId, commit: shortCommit(commit) });
}

function localPortOf(check: HealthCheck | null): number | null {
  if (check?.type === "tcp") return isThisMachine(check.host) ? Number(check.port) : null;
  if (check?.type !== "http" || !URL.canParse(check.url)) return null;
  const { hostname, port, protocol } = new URL(check.url);
  return isThisMachine(hostname) ? Number(port || (protocol === "https:" ? 443 : 80)) : null;
}

function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost") || name.startsWith("127.")) return true;
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return ["::1", "::", "0.0.0.0"].includes(name) || own.some(({ address }) => address === name);
}
