import { isFinished, type Task } from "../../model/task.ts";

/** Whether another report of the same change may join the task. After a failure, the report starts a new task instead. */
export function isUseful({ state }: Pick<Task, "state">): boolean {
  return state === "success" || !isFinished(state);
}

/** The commit of the push that asked for a task, which may build another ref. */
export function askedCommit({
  commit,
  causeRef,
  causeCommit,
}: Pick<Task, "commit" | "causeRef" | "causeCommit">): string | null {
  return (causeRef === null ? commit : causeCommit)?.toLowerCase() ?? null;
}
