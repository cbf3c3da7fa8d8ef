import type { Task } from "../shapes.ts";
import { t } from "../text/text.ts";

/** Marks of a task in a table: it serves, or it brings an earlier release back. */
export function TaskMarks({ task }: { task: Pick<Task, "isServing" | "rollbackTo"> }) {
  if (!task.isServing && task.rollbackTo === null) return null;
  return (
    <div className="marks">
      {task.isServing && <Mark kind="serving" text={t("project.live")} />}
      {task.rollbackTo !== null && (
        <Mark kind="rollback" text={t("task.rollbackOf", { id: String(task.rollbackTo) })} />
      )}
    </div>
  );
}

export function Mark({ kind, text }: { kind: "serving" | "rollback" | "replay"; text: string }) {
  return (
    <span className="mark-word" data-kind={kind}>
      {text}
    </span>
  );
}
