import { isBranchOrTag, toShortRef } from "../git/git-ref.ts";
import { compileGlob } from "../glob.ts";

/** Which deploys of a project a person must approve. */
export interface DeployRule {
  approval: "none" | "required";
  /** Globs of refs that need it; empty: every ref. */
  branches: string[];
  /** The person who pushed or started the task may not approve it. */
  notByPusher: boolean;
  /** A request that nobody answered is canceled after this time. */
  expiresAfterMinutes: number;
}

export const noApproval: DeployRule = {
  approval: "none",
  branches: [],
  notByPusher: false,
  expiresAfterMinutes: 72 * 60,
};

/** Whether a deploy of this task needs an approval. The code of forks always does: no glob of branches describes it. */
export function requiresApproval(
  { approval, branches }: DeployRule,
  { ref, source }: { ref: string; source: { fromFork: boolean } | null },
): boolean {
  if (approval === "none") return false;
  if (branches.length === 0 || !isBranchOrTag(ref) || source?.fromFork === true) return true;
  const names = [ref, toShortRef(ref)];
  // A pattern that is too complex to evaluate protects.
  const work = { left: 1_000_000 };
  return branches.some((text) => names.some((name) => compileGlob(text)(name, work))) || work.left < 0;
}

/** Whether a change lets deploys through that the rule would have stopped. */
export function isWeaker(before: DeployRule, after: DeployRule): boolean {
  if (before.approval === "none") return false;
  if (after.approval === "none") return true;
  if (before.notByPusher && !after.notByPusher) return true;
  if (after.branches.length === 0) return false;
  return before.branches.length === 0 || before.branches.some((text) => !isCovered(text, after.branches));
}

/** A wider glob covers a plain name. Whether it covers another glob is not decided: then an administrator is asked. */
function isCovered(text: string, globs: string[]): boolean {
  if (globs.includes(text)) return true;
  return !/[*?]/.test(text) && globs.some((glob) => compileGlob(glob)(text));
}
