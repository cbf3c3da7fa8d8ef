import type { NormalizedEvent, SameRefTask } from "../../model/delivery.ts";
import type { Keepers } from "../../model/store.ts";
import type { TaskSource } from "../../model/task.ts";
import { reasonText } from "../../reason/reason.ts";
import { coversStages, stagesFor } from "../../task/queue/queue.ts";
import { askedCommit, isUseful } from "./asked-change.ts";
import { actionsFor, type Decision, type InHand, orderOf, sourceOf } from "./task-steps.ts";

/** Two reports of one change arrive within seconds; a queue at the host may delay one of them. */
export const repeatedWithinMs = 10 * 60_000;

/**
 * Hosts report a new branch or tag by `create` and `push`, and a merge by a push and by the merge request. The second
 * report of a ref and commit joins the task of the first. Of an annotated tag, `create` names the tag object only.
 */
export async function joinSameChange(
  keepers: Pick<Keepers, "tasks">,
  hand: InHand,
): Promise<Decision | null> {
  const { way, rules, event, trace, situation } = hand;
  const earlier = situation.sameRef;
  if (way.debounce !== true || earlier === null || !isSameChange(earlier, event)) return null;
  const asked = actionsFor(rules, event);
  const isCovered = coversStages(earlier.actions, asked);
  const asks = askedCommit(earlier);
  const isVague = asks === null || asks === event.tagObject?.toLowerCase();
  const isTaken = earlier.state === "queued" && (!isCovered || isVague);
  if (!isCovered && !(isTaken && coversStages(asked, earlier.actions))) return null;
  const into = await keepers.tasks.byId(earlier.id);
  if (into === null || into.state !== earlier.state) return null;
  if (isTaken && into.approval !== null) return null;
  const { project } = situation;
  const order = {
    ...orderOf(rules, project, event),
    ...(isCovered ? {} : { actions: asked, stages: stagesFor(project, asked) }),
  };
  const reason = reasonText("repeated", { event: nameOf(earlier.source), task: into.id });
  trace.add("repeat", "stop", `task ${into.id}`, event.rawRef, reason);
  return {
    outcome: { code: "duplicate", reason },
    merge: { into, order: isTaken && event.commit !== null ? order : null, isDisplaced: false },
  };
}

function isSameChange(earlier: SameRefTask, event: NormalizedEvent): boolean {
  const announcedBy = sourceOf(event).announcedBy;
  const before = earlier.source?.announcedBy;
  if (before === undefined || before === announcedBy || before === "request" || announcedBy === "request")
    return false;
  if (!isUseful(earlier)) return false;
  const built = askedCommit(earlier);
  if (built === null) return event.commit === null || earlier.state === "queued";
  if (event.commit === null) return true;
  const names = [built, earlier.source?.tagObject];
  return [event.commit, event.tagObject].some((name) => name && names.includes(name.toLowerCase()));
}

function nameOf(source: TaskSource | null): string {
  return source?.announcedBy === "merge" ? "the merge request" : `\`${source?.announcedBy}\``;
}
