import { requiresApproval } from "../../model/approval/deploy-rule.ts";
import { isBranchOrTag, toFullRef } from "../../model/git/git-ref.ts";
import type { Project } from "../../model/project.ts";
import type { Task } from "../../model/task.ts";
import { hashToken } from "../../secrets.ts";

/** Whether the code of a fork is built. */
export function isFork({ ref, source }: Pick<Task, "ref" | "source">): boolean {
  return source?.fromFork === true || !isBranchOrTag(ref);
}

/**
 * The trust level of a task, which separates caches and, on runners with a user for each project, users. Each merge request
 * of a fork has its own.
 */
export function cacheScopeOf(
  task: Pick<Task, "ref" | "source">,
  project: Pick<Project, "git" | "deploy">,
): string {
  if (isFork(task)) return `fork-${hashToken(task.source?.mergeRequest || task.ref).slice(0, 12)}`;
  return isProtected(task.ref, project) ? "protected" : "other";
}

/** The project's own ref, and the refs that its rule for approvals names. Everyone who can push can push to any other. */
function isProtected(ref: string, { git, deploy }: Pick<Project, "git" | "deploy">): boolean {
  const isNamed = deploy.branches.length > 0 && requiresApproval(deploy, { ref, source: null });
  return isNamed || toFullRef(ref) === toFullRef(git.ref);
}
