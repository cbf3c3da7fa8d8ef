import { type ReaperTask, runReaper } from "../runner/process/reaper.ts";

/** The reaper of one run of a script. */
export async function runReaperProcess(task: string): Promise<void> {
  process.exit(await runReaper(JSON.parse(task) as ReaperTask));
}
