import type { Project } from "../../model/project.ts";
import type { Task } from "../../model/task.ts";
import type { RunTask } from "../../runner/protocol.ts";
import { stepOf } from "../approval/request-approval.ts";
import { isFork } from "./cache-scope.ts";

/** The file that the runner must read first; null: the pipeline is known. */
export function wantedFile(task: Task, { pipelineFile, git }: Project): RunTask["pipelineFile"] | null {
  const { pipeline, rollbackTo, deploys, serviceAction, source } = task;
  if (pipelineFile === null || pipeline !== null || serviceAction !== null) return null;
  if (rollbackTo !== null || deploys !== null) return null;
  if (stepOf(task) === "deploy") return null;
  // The author of a fork would choose what is run with the file of the fork.
  return { path: pipelineFile.path, branch: isFork(task) ? source?.targetBranch || git.ref : null };
}
