import { toShortRef } from "../../model/git/git-ref.ts";
import type { Keepers } from "../../model/store.ts";
import type { Task, TaskSource } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { orderOf, sourceOf } from "./create-task.ts";
import { type Decision, type PassedDelivery, type ProjectState, traceOn } from "./delivery.ts";

/** Filter step 5: within the window of an accepted delivery, the waiting task takes over newer data. */
export async function debounce(
  keepers: Pick<Keepers, "tasks">,
  delivery: PassedDelivery,
): Promise<Decision | null> {
  const { kind, config, state } = delivery;
  const trace = traceOn(delivery.trace);
  const windowSeconds = config.debounceSeconds;
  const shown = `${windowSeconds} s`;
  if (!kind.debounce || windowSeconds === 0) {
    trace.add(
      "debounce",
      "skipped",
      "",
      shown,
      newReason(windowSeconds === 0 ? "debounce_off" : "debounce_skipped"),
    );
    return null;
  }
  const { windowTask } = state;
  if (windowTask === null) {
    trace.add("debounce", "pass", "", shown, newReason("debounce_first"));
    return null;
  }
  const task = isAlike(delivery, windowTask)
    ? await queuedTask(keepers, windowTask)
    : await olderOfWindow(keepers, delivery);
  if (task?.state !== "queued" || task.approval !== null) {
    trace.add("debounce", "pass", `task ${windowTask.id}`, shown, newReason("debounce_full"));
    return null;
  }
  if (kind.debounce === "shown") {
    trace.add(
      "debounce",
      "unknown",
      `task ${task.id}`,
      shown,
      newReason("debounce_would_merge", { task: task.id }),
    );
    return null;
  }
  return mergeInto(delivery, task, shown);
}

async function queuedTask(
  { tasks }: Pick<Keepers, "tasks">,
  { id, state }: NonNullable<ProjectState["windowTask"]>,
): Promise<Task | null> {
  return state === "queued" ? tasks.hold(id) : null;
}

/** The newest queued task that a delivery of the same kind created inside the window, before one of another kind. */
async function olderOfWindow(
  { tasks }: Pick<Keepers, "tasks">,
  delivery: PassedDelivery,
): Promise<Task | null> {
  const { config, event, now, state } = delivery;
  const since = now.getTime() - config.debounceSeconds * 1000;
  const isOfWindow = ({ createdAt, triggerType, source, ...task }: Task) =>
    triggerType === "webhook" &&
    source?.sentBy === undefined &&
    createdAt.getTime() > since &&
    (config.debounceScope !== "ref" || (task.causeRef ?? task.ref) === event.rawRef);
  const unfinished = await tasks.unfinishedOfProject(state.project.id);
  const found = unfinished.findLast(
    (task) => task.state === "queued" && isOfWindow(task) && isAlike(delivery, task),
  );
  return found === undefined ? null : tasks.hold(found.id);
}

/** A merge request that runs other stages, and the code of a fork, are built separately. */
function isAlike({ config, event }: PassedDelivery, { source }: Pick<Task, "source">): boolean {
  const own = sourceOf(event);
  const isRequest = (of: TaskSource | null) => of?.event === "merge_request";
  if (own.fromFork !== (source?.fromFork ?? false)) return false;
  return config.mergeRequestActions === null || isRequest(own) === isRequest(source);
}

function mergeInto({ config, state, event, trace }: PassedDelivery, into: Task, shown: string): Decision {
  const order = orderOf(config, state.project, event);
  // A host's `create` names no commit, or the object of a tag: it never removes a known commit.
  const isVague = order.commit === null || order.commit === into.source?.tagObject;
  const keeps = isVague && into.commit !== null;
  const merged = { task: into.id, window: shown };
  const displaced = displacement(into, order, keeps);
  const reason = displaced
    ? newReason("debounce_merged_instead", { ...merged, ...displaced })
    : newReason("debounce_merged", merged);
  traceOn(trace).add("debounce", "stop", `task ${into.id}`, shown, reason);
  return {
    outcome: { code: "debounced", reason },
    merge: { into, order: keeps ? null : order, isDisplaced: keeps && into.ref !== order.ref },
  };
}

/** Names a ref that is not built because another one replaced it. */
function displacement(
  task: Task,
  order: { ref: string },
  keeps: boolean,
): { built: string; displaced: string } | null {
  if (task.ref === order.ref) return null;
  const [built, displaced] = keeps ? [task.ref, order.ref] : [order.ref, task.ref];
  const isAlike = toShortRef(built) === toShortRef(displaced);
  const nameOf = isAlike ? (ref: string) => ref : toShortRef;
  return { built: nameOf(built), displaced: nameOf(displaced) };
}
