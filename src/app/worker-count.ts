import { availableParallelism } from "node:os";
import type { Config } from "../config/config.ts";

/** The hidden command of a worker process. */
export const workerCommand = "push-worker";

/** Number of worker processes for the setting. */
export function workerCount(setting: Config["push.workers"]): number {
  return setting === "auto" ? availableParallelism() : setting;
}
