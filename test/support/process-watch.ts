import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Processes of scripts under test: each appends its pid to one file. */
export interface ProcessWatch {
  file: string;
  /** Waits until this many pids are in the file. */
  all(count: number): Promise<number[]>;
  alive(): number[];
}

export function watchProcesses(): ProcessWatch {
  const file = join(temporaryFolder("pids"), "pids");
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

/** Ends scripts whose workspace is in this folder, and services of the runner that works in it, as the last act of a test. */
export function endScriptsIn(folder: string): void {
  if (!existsSync("/proc")) return;
  // A keeper would start its service again.
  for (const pid of keepersIn(folder)) signalIfAlive(pid, "SIGKILL");
  for (const pid of readdirSync("/proc").map(Number))
    if (textsIn(pid, "environ").some((variable) => variable.startsWith(`CI_WORKSPACE=${folder}/`)))
      signalIfAlive(pid, "SIGKILL");
}

/** Keepers, and their helpers, of the services of a runner that works in this folder. */
export function keepersIn(folder: string, projectId?: number): number[] {
  const part = `/services/${projectId === undefined ? "" : `${projectId}/`}`;
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      const [, script = ""] = textsIn(pid, "cmdline");
      return script.startsWith(`${folder}/`) && script.includes(part) && script.endsWith("/keeper");
    });
}

function textsIn(pid: number, file: "cmdline" | "environ"): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** Pids of the running children of a process whose command line contains `text`. */
export function childrenOf(parent: number, text: string): number[] {
  const read = (pid: string, name: string) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, "utf8");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => Number(read(pid, "stat").split(") ").at(-1)?.split(" ")[1]) === parent)
    .filter((pid) => read(pid, "cmdline").includes(text) && isAlive(Number(pid)))
    .map(Number);
}

/** Whether it runs; a zombie does not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
