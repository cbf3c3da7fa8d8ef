import { gitHostOf } from "../../git-host/hosts.ts";
import type { NormalizedEvent, SameRefTask } from "../../model/delivery.ts";
import { coversStages, stagesFor } from "../../model/stage/task-stages.ts";
import type { Keepers } from "../../model/store.ts";
import { isFinished, type Task, type TaskSource } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { actionsFor, orderOf, sourceOf } from "./create-task.ts";
import { type Decision, type HookConfig, type PassedDelivery, traceOn } from "./delivery.ts";

/** Two reports of one change arrive within seconds; a queue at the host may delay one of them. */
const repeatedWithinMs = 10 * 60_000;

/** Earlier tasks are not looked at. */
export function reportedSince(now: Date): Date {
  return new Date(now.getTime() - repeatedWithinMs);
}

/** Whether the host may report a change more than once. */
function mayRepeat({ events, provider }: HookConfig): boolean {
  return events.includes("merge_request") || "create" in gitHostOf(provider).events;
}

/**
 * Hosts report a new branch or tag by `create` and `push`, and a merge by a push and by the merge request. The second
 * report of a ref and commit joins the task of the first. Of an annotated tag, `create` names the tag object only.
 */
export async function joinReported(
  keepers: Pick<Keepers, "tasks">,
  delivery: PassedDelivery,
): Promise<Decision | null> {
  const { kind, config, event, state } = delivery;
  const earlier = state.sameRef;
  if (kind.debounce !== true || !mayRepeat(config)) return null;
  if (earlier === null || !isSameChange(earlier, event)) return null;
  const asked = actionsFor(config, event);
  const isCovered = coversStages(earlier.actions, asked);
  const asks = askedCommit(earlier);
  const isVague = asks === null || asks === event.tagObject?.toLowerCase();
  const isTaken = earlier.state === "queued" && (!isCovered || isVague);
  if (!isCovered && !(isTaken && coversStages(asked, earlier.actions))) return null;
  const into = await keepers.tasks.hold(earlier.id);
  if (into === null || into.state !== earlier.state) return null;
  if (isTaken && into.approval !== null) return null;
  const { project } = state;
  const order = {
    ...orderOf(config, project, event),
    ...(isCovered ? {} : { actions: asked, stages: stagesFor(project, asked) }),
  };
  const reason = newReason("repeated", { event: nameOf(earlier.source), task: into.id });
  traceOn(delivery.trace).add("repeat", "stop", `task ${into.id}`, event.rawRef, reason);
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

/** A push that a poll found before the host reported it: its task exists already, unless it failed or took over another push. */
export async function joinPolled(
  keepers: Pick<Keepers, "tasks">,
  { kind, event, state, trace }: PassedDelivery,
): Promise<Decision | null> {
  const { tip } = state;
  if (kind.tip !== "live" || !tip?.polledTaskId || tip.commit !== event.commit?.toLowerCase()) return null;
  const into = await keepers.tasks.byId(tip.polledTaskId);
  if (into === null || !isUseful(into) || askedCommit(into) !== tip.commit) return null;
  const reason = newReason("poll_found", { task: into.id });
  traceOn(trace).add("poll", "stop", tip.commit, `task ${into.id}`, reason);
  return { outcome: { code: "duplicate", reason }, merge: { into, order: null, isDisplaced: false } };
}

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
