import { openCLibrary } from "../../system/c-library.ts";
import { endDescendants, livingDescendants } from "./process-tree.ts";

/** What the reaper runs. */
export interface ReaperTask {
  command: string[];
  cwd: string;
  /** Between SIGTERM and SIGKILL for what the command leaves behind; null: it may continue. */
  graceMs: number | null;
}

const prSetChildSubreaper = 36;

/**
 * Runs a command where no control group can be created. Processes whose parent has ended become children of this process
 * instead of the system's first one, so that a daemon with an empty environment is found. Returns the exit code.
 */
export async function runReaper({ command, cwd, graceMs }: ReaperTask): Promise<number> {
  // The runner sends signals to all processes of the session; this one ends after the others.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  const { symbols } = await openCLibrary({
    prctl: { args: ["i32", "u64", "u64", "u64", "u64"], returns: "i32" },
  });
  symbols.prctl(prSetChildSubreaper, 1, 0, 0, 0);
  const child = Bun.spawn(command, { cwd, stdin: "inherit", stdout: "inherit", stderr: "inherit" });
  const exitCode = await child.exited;
  if (graceMs === null || livingDescendants().length === 0) return exitCode;
  await endDescendants(graceMs);
  console.log("[processes that the script left in the background were ended]");
  return exitCode;
}
