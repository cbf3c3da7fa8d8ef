import type { OperationKeepers } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { secretNamesOf } from "../view/inherited-values.ts";
import { waitingSince, withoutAnswer } from "./waiting-since.ts";

/**
 * A secret that was stored after the request could replace a variable that was approved. Null: there is none; else what
 * changes when the approval is requested again. A new value of a known secret needs no approval.
 */
export async function askedForSecrets(
  keepers: Pick<OperationKeepers, "projects" | "groups" | "now">,
  task: Task,
): Promise<Partial<Task> | null> {
  const { projectId, approval, attempt } = task;
  const project = approval && (await keepers.projects.byId(projectId));
  if (!project) return null;
  const secretNames = await secretNamesOf(keepers, project);
  const added = secretNames.filter((name) => !approval.secretNames.includes(name));
  if (added.length === 0) return null;
  const replacing = added.filter((name) => name in approval.pinned.env);
  const reason =
    replacing.length > 0
      ? newReason("approval_secrets_shadow", { names: replacing.join(", ") })
      : newReason("approval_secrets_added", { names: added.join(", ") });
  const now = keepers.now();
  const asked = { ...withoutAnswer(task, approval, now), secretNames, earlierAttempts: attempt };
  return { ...waitingSince(asked, now), reason };
}
