import type { Task } from "../shapes.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

/** Marks of a task in a list: it brings an earlier release back, or moves the project. */
export function TaskMarks({ task }: { task: Pick<Task, "rollbackTo" | "move"> }) {
  return (
    <>
      {task.rollbackTo !== null && (
        <Mark kind="rollback" text={t("task.rollbackOf", { id: String(task.rollbackTo) })} />
      )}
      {task.move !== null && <Mark kind="action" text={t("task.moves")} />}
    </>
  );
}

const maxShown = 120;

/** `stop web`, `command node seed.js`. */
export function actionText(action: NonNullable<Task["serviceAction"]>): string {
  const names = action.type === "exec" ? action.command.join(" ") : action.services.join(", ");
  const shown = names.length > maxShown ? `${names.slice(0, maxShown)}…` : names;
  return t(`services.did_${action.type}`, { names: visible(shown) });
}

export function Mark({ kind, text }: { kind: "serving" | "rollback" | "replay" | "action"; text: string }) {
  return (
    <span className="mark-word" data-kind={kind}>
      {text}
    </span>
  );
}
