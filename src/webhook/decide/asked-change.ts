import type { Task, TaskState } from "../../model/task.ts";

const usefulStates: readonly TaskState[] = [
  "queued",
  "dispatched",
  "running",
  "canceling",
  "waiting",
  "success",
];

/** Whether a further report of the change that a task builds may join it; one that failed may be tried again. */
export function isUseful({ state }: Pick<Task, "state">): boolean {
  return usefulStates.includes(state);
}

/** The commit of the push that asked for a task, which may build another ref. */
export function askedCommit({
  commit,
  causeRef,
  causeCommit,
}: Pick<Task, "commit" | "causeRef" | "causeCommit">): string | null {
  return (causeRef === null ? commit : causeCommit)?.toLowerCase() ?? null;
}
