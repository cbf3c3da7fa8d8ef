import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";

/** Processes of scripts under test: each appends its pid to one file. */
export interface ProcessWatch {
  file: string;
  /** Waits until this many pids are in the file. */
  all(count: number): Promise<number[]>;
  alive(): number[];
}

export function watchProcesses(): ProcessWatch {
  const file = join(mkdtempSync(join(tmpdir(), "slipway-pids-")), "pids");
  const pids = () =>
    existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number) : [];
  return {
    file,
    async all(count) {
      await eventually(`${count} processes have begun`, () => pids().length >= count);
      return pids();
    },
    alive: () => pids().filter(isAlive),
  };
}

/** Sends a signal to a process that may have ended. */
export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

/** Whether it runs; a zombie does not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
