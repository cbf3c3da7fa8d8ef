import { createHash } from "node:crypto";
import { isBranchOrTag, toFullRef } from "../../model/git/git-ref.ts";
import type { RunTask } from "../protocol.ts";

/** Whose code a task builds: that of a protected ref, of another ref, or of a fork. */
export type Trust = "protected" | "other" | "fork";

/** Tasks with the same scope share their caches. A server of an earlier version sends none. */
export function cacheScopeOf({ cacheScope, ref }: Pick<RunTask, "cacheScope" | "ref">): string {
  if (cacheScope !== undefined) return cacheScope;
  if (isBranchOrTag(toFullRef(ref))) return "other";
  return `fork-${createHash("sha256").update(ref).digest("hex").slice(0, 12)}`;
}

export function trustOf(instruction: Pick<RunTask, "cacheScope" | "ref">): Trust {
  const scope = cacheScopeOf(instruction);
  return scope === "protected" || scope === "other" ? scope : "fork";
}
