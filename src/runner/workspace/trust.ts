import type { RunTask } from "../protocol.ts";

/** Whose code a task builds: that of a protected ref, of another ref, or of a fork. */
export type Trust = "protected" | "other" | "fork";

export function trustOf({ cacheScope }: Pick<RunTask, "cacheScope">): Trust {
  return cacheScope === "protected" || cacheScope === "other" ? cacheScope : "fork";
}
