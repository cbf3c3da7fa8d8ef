import { readdirSync, readlinkSync } from "node:fs";
import { processIds, readProc, statusOf } from "../process/process-tree.ts";
import { readSockets } from "./sockets.ts";

/** A process that listens on a port of this machine. */
export interface PortHolder {
  pid: number;
  name: string;
  session: number;
  /** Clock ticks since boot. */
  startedAt: number;
}

/** Sockets that listen on the port, by inode. Empty where there is no /proc. */
export function listeningSockets(port: number): string[] {
  return readSockets().listening(port);
}

/** Processes with one of these sockets open, as far as this user may see. */
export function holdersOf(sockets: readonly string[]): PortHolder[] {
  if (sockets.length === 0) return [];
  const wanted = new Set(sockets.map((inode) => `socket:[${inode}]`));
  return (processIds() ?? []).filter((pid) => hasOpen(pid, wanted)).flatMap(describe);
}

function hasOpen(pid: number, wanted: Set<string>): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((name) => isLinkTo(`${folder}/${name}`, wanted));
  } catch {
    return false;
  }
}

function isLinkTo(path: string, wanted: Set<string>): boolean {
  try {
    return wanted.has(readlinkSync(path));
  } catch {
    // Closed since the folder was read.
    return false;
  }
}

function describe(pid: number): PortHolder[] {
  const status = statusOf(pid);
  if (status === null) return [];
  const name = readProc(pid, "comm")?.trim() ?? "";
  return [{ pid, name, session: status.session, startedAt: Number(status.startedAt) }];
}
