import { toShortRef } from "../../model/git/git-ref.ts";
import type { Project } from "../../model/project.ts";
import type { Task } from "../../model/task.ts";
import { taskTraceparent } from "../view/task-trace.ts";

/**
 * The variables of a script that the server knows; the runner adds those of the checkout and the stage. All are set, even if
 * empty, because scripts with `set -u` stop at an unset variable. Variables and secrets of users cannot begin with `CI_`.
 */
export function taskVariables(
  task: Task,
  { name, environment }: Pick<Project, "name" | "environment">,
): Record<string, string> {
  const { ref, author, triggerType, triggeredBy, source } = task;
  return {
    CI_PROJECT_NAME: name,
    CI_ENVIRONMENT: environment?.name ?? "",
    CI_REF_NAME: toShortRef(ref),
    CI_REF_TYPE: ref.startsWith("refs/tags/") ? "tag" : "branch",
    CI_AUTHOR: author,
    CI_TRIGGER: triggerType,
    CI_TRIGGERED_BY: triggeredBy,
    CI_EVENT: source?.event ?? "manual",
    CI_MERGE_REQUEST: source?.mergeRequest ?? "",
    CI_TARGET_BRANCH: source?.targetBranch ?? "",
  };
}

/** With it, tools that know OpenTelemetry add their own spans to the trace of the task. */
export function traceVariables(task: Task): Record<string, string> {
  const traceparent = taskTraceparent(task);
  return traceparent === null ? {} : { TRACEPARENT: traceparent };
}
