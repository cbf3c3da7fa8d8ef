import type { Project } from "../model/project.ts";
import { hasSideEffects } from "../model/stage/task-stages.ts";
import type { OperationKeepers } from "../model/store.ts";
import type { Task } from "../model/task.ts";
import { newReason } from "../reason/reason.ts";
import { ended } from "./transitions.ts";

/** A new task supersedes older ones of its ref, as far as the project's settings say so. Actions with services supersede nothing. */
export async function supersedeOlder(
  keepers: OperationKeepers,
  project: Project,
  task: Task,
): Promise<Task[]> {
  if (project.supersede === "none" || task.serviceAction !== null || task.move !== null) return [];
  const by = { reason: newReason("superseded_by", { task: task.id }), supersededBy: task.id };
  const superseded: Task[] = [];
  for (const older of await keepers.tasks.unfinishedOfProject(project.id)) {
    if (older.id === task.id || older.ref !== task.ref || older.approval?.state === "approved") continue;
    // It deploys what serves, wherever that was pushed.
    if (older.move !== null) continue;
    const changed =
      (await keepers.tasks.change(older.id, {
        whileIn: ["queued"],
        set: { ...ended(older, "canceled", keepers.now()), ...by },
      })) ??
      // An interrupted deploy or start leaves an undefined state.
      (project.supersede === "running" && !hasSideEffects(older.stages)
        ? await keepers.tasks.change(older.id, {
            whileIn: ["dispatched", "running"],
            set: { state: "canceling", ...by },
          })
        : null);
    if (changed) superseded.push(changed);
  }
  return superseded;
}
