import type { NormalizedEvent } from "../model/delivery.ts";
import { isCommit, toFullRef, toShortRef } from "../model/git-ref.ts";
import type { Keepers } from "../model/store.ts";
import type { Task } from "../model/task.ts";
import { type Enqueued, enqueueTask, type QueuePlace, type TaskOrder } from "../task/queue.ts";
import type { Hook } from "./hook-directory.ts";
import type { Outcome } from "./outcome.ts";
import type { PlaceOf } from "./queue-places.ts";
import type { Trace } from "./trace.ts";
import type { WayIn } from "./ways-in.ts";

/** What a delivery led to. */
export interface Decision {
  outcome: Outcome;
  enqueued?: Enqueued;
  place?: QueuePlace;
  mergedIntoTaskId?: number;
  /** The task that took over this delivery's ref and commit. */
  moved?: Task;
}

/** A delivery in hand, inside its project's lock. */
export interface InHand {
  way: WayIn;
  hook: Hook;
  event: NormalizedEvent;
  trace: Trace;
  now: Date;
}

type TaskKeepers = Pick<Keepers, "tasks" | "deliveries" | "runners">;

/** Filter step 5: inside the window of an accepted delivery the task that waits takes over what is newer. */
export async function debounce(keepers: TaskKeepers, hand: InHand): Promise<Decision | null> {
  const { way, hook, event, trace, now } = hand;
  const windowSeconds = hook.rules.debounceSeconds;
  const shown = `${windowSeconds} s`;
  if (!way.debounce || windowSeconds === 0) {
    trace.add("debounce", "skipped", "", shown, windowSeconds === 0 ? "Debounce is off." : "Not debounced.");
    return null;
  }
  const since = new Date(now.getTime() - windowSeconds * 1000);
  const scopeRef = hook.config.debounceScope === "ref" ? event.ref : undefined;
  const first = await keepers.deliveries.lastAccepted(hook.config.projectId, since, scopeRef);
  if (first === null) {
    trace.add("debounce", "pass", "", shown, "No delivery was accepted inside the window.");
    return null;
  }
  const task = await keepers.tasks.byId(first.task_id);
  if (task === null || task.state !== "queued") {
    trace.add("debounce", "pass", `task ${first.task_id}`, shown, "The task of the window can take no more.");
    return null;
  }
  if (way.debounce === "shown") {
    trace.add("debounce", "unknown", `task ${task.id}`, shown, `It would be merged into task ${task.id}.`);
    return null;
  }
  return mergeInto(keepers, hand, task, shown);
}

async function mergeInto(
  keepers: TaskKeepers,
  { hook, event, trace }: InHand,
  task: Task,
  shown: string,
): Promise<Decision | null> {
  const order = orderOf(hook, event);
  // A delivery without a commit (a host's `create`) never erases the one that is known.
  const keeps = order.commit === null && task.commit !== null;
  const moved = keeps ? task : await keepers.tasks.change(task.id, { whileIn: ["queued"], set: order });
  if (moved === null) {
    trace.add("debounce", "pass", `task ${task.id}`, shown, "The task of the window was claimed meanwhile.");
    return null;
  }
  const reason = `Merged into task ${task.id}, which waits for the window of ${shown} to close${displacement(task, order, keeps)}.`;
  trace.add("debounce", "stop", `task ${task.id}`, shown, reason);
  const decision: Decision = { outcome: { code: "debounced", reason }, mergedIntoTaskId: task.id };
  return keeps ? decision : { ...decision, moved };
}

/** Names a ref that will not be built because another one took its place. */
function displacement(task: Task, order: { ref: string }, keeps: boolean): string {
  if (task.ref === order.ref) return "";
  const [built, displaced] = keeps ? [task.ref, order.ref] : [order.ref, task.ref];
  return `; it builds ${toShortRef(built)} instead of ${toShortRef(displaced)}`;
}

/** Filter step 6: with queuePolicy skip, a project that has an unfinished task takes no further one. */
export async function giveWay(keepers: TaskKeepers, hand: InHand): Promise<Decision | null> {
  const { way, hook, trace } = hand;
  const { projectId, queuePolicy } = hook.config;
  if (queuePolicy === "always") {
    trace.add("queue", "pass", "", queuePolicy, "Tasks queue up.");
    return null;
  }
  const [busy] = await keepers.tasks.unfinishedOfProject(projectId);
  if (busy === undefined) {
    trace.add("queue", "pass", "", queuePolicy, "The project has no unfinished task.");
    return null;
  }
  const reason = `The project has an unfinished task (${busy.id}, ${busy.state}), and its queue policy is skip.`;
  trace.add(
    "queue",
    way.queuePolicy === "shown" ? "unknown" : "stop",
    `task ${busy.id}`,
    queuePolicy,
    reason,
  );
  return way.queuePolicy === "shown" ? null : { outcome: { code: "queue_busy", reason } };
}

export async function enqueue(keepers: TaskKeepers, hand: InHand, placeOf: PlaceOf): Promise<Decision> {
  const { way, hook, event, trace, now } = hand;
  const unknown = trace.steps.find(({ step, result }) => step === "path" && result === "unknown");
  const outcome: Outcome = { code: "accepted", reason: unknown?.detail ?? "All filters passed." };
  if (!way.task) {
    trace.add("task", "pass", event.rawRef, "", "A task would be created.");
    return { outcome };
  }
  const waitSeconds = way.debounce ? hook.rules.debounceSeconds : 0;
  const order: TaskOrder = {
    ...orderOf(hook, event),
    project: hook.project,
    triggerType: "webhook",
    actions: hook.config.actions,
    deliveryId: null,
    rerunOf: null,
    notBefore: waitSeconds === 0 ? null : new Date(now.getTime() + waitSeconds * 1000),
  };
  const enqueued = await enqueueTask(keepers, order, now);
  const place = await placeOf(keepers, enqueued.task, now);
  trace.add("task", "pass", order.ref, "", `Task ${enqueued.task.id} was created.`);
  return { outcome, enqueued, place };
}

/** What is built for an event, and by whose push. */
function orderOf(
  { config, project }: Hook,
  event: NormalizedEvent,
): Pick<Task, "ref" | "commit" | "message" | "author" | "triggeredBy" | "causeRef" | "causeCommit"> {
  const who = { message: event.message, author: event.author, triggeredBy: event.author || "webhook" };
  // Git needs the whole name to fetch a commit; a short one stands in the record alone.
  const commit = event.commit !== null && isCommit(event.commit) ? event.commit.toLowerCase() : null;
  if (config.refSource === "webhook")
    return { ...who, ref: event.rawRef, commit, causeRef: null, causeCommit: null };
  const ref = toFullRef(project.git.ref);
  return {
    ...who,
    ref,
    // Only a push of the very branch that is built says which commit of it.
    commit: event.rawRef === ref ? commit : null,
    causeRef: event.rawRef,
    causeCommit: event.commit,
  };
}

/** How the answer speaks of the task. */
export function messageOf({ outcome, enqueued, place }: Decision): string {
  if (!enqueued || !place) return outcome.reason;
  const { task } = enqueued;
  if (place.queued) return `Task ${task.id} is queued at position ${place.position}.`;
  if (task.notBefore === null) return `Task ${task.id} was dispatched.`;
  return `Task ${task.id} was dispatched, starts at ${task.notBefore.toISOString()}.`;
}
