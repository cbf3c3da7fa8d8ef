import { z } from "zod";
import { strict, text } from "../../reason/schema-forms.ts";
import { isBranchOrTag, toShortRef } from "../git/git-ref.ts";
import { compileGlob } from "../glob.ts";

/** Which deploys of a project a person must approve. */
export const deployRule = z
  .object({
    approval: z.enum(["none", "required"]).meta({
      description: "`required`: a task is built, and waits before it deploys until a manager approves it.",
    }),
    branches: z
      .array(text(256, 1))
      .max(100)
      .meta({ description: "Globs of the built refs that need it; empty: every ref.", example: ["main"] }),
    notByPusher: z.boolean().meta({
      description:
        "The person who pushed or started the task, or who changed what it deploys since the approved release that serves, may not approve it.",
    }),
    /** A request that nobody answered is canceled after this time. */
    expiresAfterMinutes: z.number().int().min(1).max(525_600),
  })
  .meta({ id: "DeployRule" });
export type DeployRule = z.infer<typeof deployRule>;

export const deployRuleBody = strict(deployRule.shape).partial().meta({
  id: "DeployRuleChange",
  description: "Omitted fields are unchanged. Only an administrator may make the rule weaker.",
});

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
