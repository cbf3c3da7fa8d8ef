import type { NormalizedEvent, Situation } from "../../model/delivery.ts";
import { isCommit, toFullRef, toShortRef } from "../../model/git/git-ref.ts";
import type { Project } from "../../model/project.ts";
import type { Keepers } from "../../model/store.ts";
import type { NewTask, Task, TaskSource } from "../../model/task.ts";
import type { Actions, WebhookConfig } from "../../model/webhook-config.ts";
import { reasonText } from "../../reason/reason.ts";
import {
  coversStages,
  newTaskOf,
  placeAtTheEnd,
  type QueuePlace,
  type TaskOrder,
} from "../../task/queue/queue.ts";
import { pollEvent } from "../host/normalized.ts";
import type { Outcome } from "./outcome.ts";
import { cutAtBytes, maxMessageBytes } from "./stored-body.ts";
import type { Trace } from "./trace.ts";
import type { WayIn } from "./ways-in.ts";

/** The actions that a decision consists of. Deciding only reads; written.ts carries the actions out in one write. */
export interface Decision {
  outcome: Outcome;
  /** The task to create, and its place; null: it was not counted. */
  start?: { task: NewTask; place: QueuePlace | null };
  /**
   * The queued task that takes over the delivery's request; `order` null: it keeps its own. `isDisplaced`: it keeps
   * another ref than the delivery's.
   */
  merge?: { into: Task; order: BuildOrder | null; isDisplaced: boolean };
}

/** The ref and commit that is built for an event, and who pushed it. */
export type BuildOrder = Pick<
  Task,
  "ref" | "commit" | "message" | "author" | "triggeredBy" | "causeRef" | "causeCommit" | "source"
> &
  Partial<Pick<Task, "actions" | "stages">>;

/** The fields of a hook that the steps need. */
export interface HookRules
  extends Pick<
    WebhookConfig,
    | "projectId"
    | "debounceScope"
    | "queuePolicy"
    | "refSource"
    | "actions"
    | "mergeRequestActions"
    | "repositoryCheck"
    | "updatedAt"
  > {
  /** The project's setting, or the installation's. */
  debounceSeconds: number;
  /** Whether the host may report one change in more than one way. */
  hasRepeats: boolean;
}

/** A delivery that passed the filters, and the state of its project. */
export interface InHand {
  way: WayIn;
  rules: HookRules;
  event: NormalizedEvent;
  trace: Trace;
  now: Date;
  situation: Situation;
}

/** Filter step 5: within the window of an accepted delivery, the waiting task takes over newer data. */
export async function debounce(keepers: Pick<Keepers, "tasks">, hand: InHand): Promise<Decision | null> {
  const { way, rules, trace } = hand;
  const windowSeconds = rules.debounceSeconds;
  const shown = `${windowSeconds} s`;
  if (!way.debounce || windowSeconds === 0) {
    trace.add(
      "debounce",
      "skipped",
      "",
      shown,
      reasonText(windowSeconds === 0 ? "debounce_off" : "debounce_skipped"),
    );
    return null;
  }
  const { windowTask } = hand.situation;
  if (windowTask === null) {
    trace.add("debounce", "pass", "", shown, reasonText("debounce_first"));
    return null;
  }
  const task = isAlike(hand, windowTask)
    ? await queuedTask(keepers, windowTask)
    : await olderOfWindow(keepers, hand);
  if (task?.state !== "queued" || task.approval !== null) {
    trace.add("debounce", "pass", `task ${windowTask.id}`, shown, reasonText("debounce_full"));
    return null;
  }
  if (way.debounce === "shown") {
    trace.add(
      "debounce",
      "unknown",
      `task ${task.id}`,
      shown,
      reasonText("debounce_would_merge", { task: task.id }),
    );
    return null;
  }
  return mergeInto(hand, task, shown);
}

async function queuedTask(
  { tasks }: Pick<Keepers, "tasks">,
  { id, state }: NonNullable<Situation["windowTask"]>,
): Promise<Task | null> {
  return state === "queued" ? tasks.byId(id) : null;
}

/** The newest queued task that a delivery of the same kind created inside the window, before one of another kind. */
async function olderOfWindow({ tasks }: Pick<Keepers, "tasks">, hand: InHand): Promise<Task | undefined> {
  const { rules, event, now, situation } = hand;
  const since = now.getTime() - rules.debounceSeconds * 1000;
  const isOfWindow = ({ createdAt, triggerType, source, ...task }: Task) =>
    triggerType === "webhook" &&
    source?.sentBy === undefined &&
    createdAt.getTime() > since &&
    (rules.debounceScope !== "ref" || (task.causeRef ?? task.ref) === event.rawRef);
  const unfinished = await tasks.unfinishedOfProject(situation.project.id);
  return unfinished.findLast((task) => task.state === "queued" && isOfWindow(task) && isAlike(hand, task));
}

/** A merge request that runs other stages, and the code of a fork, are built separately. */
function isAlike({ rules, event }: InHand, { source }: Pick<Task, "source">): boolean {
  const own = sourceOf(event);
  const isRequest = (of: TaskSource | null) => of?.event === "merge_request";
  if (own.fromFork !== (source?.fromFork ?? false)) return false;
  return rules.mergeRequestActions === null || isRequest(own) === isRequest(source);
}

/** The stages that a delivery of this event runs; null: all. */
export function actionsFor(rules: HookRules, event: NormalizedEvent): Actions | null {
  return event.event === "merge_request" ? (rules.mergeRequestActions ?? rules.actions) : rules.actions;
}

export function sourceOf(of: NormalizedEvent): TaskSource {
  const { event, rawEvent, author, mergeRequest, sentBy, tagObject } = of;
  const isMerged = mergeRequest?.isMerged === true;
  return {
    event: event ?? "push",
    announcedBy: mergeRequest
      ? isMerged
        ? "merge"
        : "request"
      : rawEvent.toLowerCase() === "create"
        ? "create"
        : "push",
    // A poll knows the author of the commit, a text that the commit's maker chose, and not the account that pushed it.
    pusher: rawEvent === pollEvent ? "" : shortName(author),
    ...(sentBy === undefined ? {} : { sentBy }),
    mergeRequest: shortName(mergeRequest?.number ?? ""),
    targetBranch: mergeRequest?.targetBranch ?? "",
    fromFork: mergeRequest?.fromFork === true && !isMerged,
    ...(tagObject === undefined ? {} : { tagObject: tagObject.toLowerCase() }),
  };
}

function mergeInto({ rules, situation, event, trace }: InHand, into: Task, shown: string): Decision {
  const order = orderOf(rules, situation.project, event);
  // A host's `create` names no commit, or the object of a tag: it never removes a known commit.
  const isVague = order.commit === null || order.commit === into.source?.tagObject;
  const keeps = isVague && into.commit !== null;
  const merged = { task: into.id, window: shown };
  const displaced = displacement(into, order, keeps);
  const reason = displaced
    ? reasonText("debounce_merged_instead", { ...merged, ...displaced })
    : reasonText("debounce_merged", merged);
  trace.add("debounce", "stop", `task ${into.id}`, shown, reason);
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

/** Filter step 6: with queuePolicy skip, a project with an unfinished task accepts no further one. */
export function applyQueuePolicy({ way, rules, trace, situation }: InHand): Decision | null {
  const { queuePolicy } = rules;
  if (queuePolicy === "always") {
    trace.add("queue", "pass", "", queuePolicy, reasonText("queue_open"));
    return null;
  }
  const busy = situation.unfinished;
  if (busy === null) {
    trace.add("queue", "pass", "", queuePolicy, reasonText("queue_free"));
    return null;
  }
  const reason = reasonText("queue_busy", { task: busy.id, state: busy.state });
  trace.add(
    "queue",
    way.queuePolicy === "shown" ? "unknown" : "stop",
    `task ${busy.id}`,
    queuePolicy,
    reason,
  );
  return way.queuePolicy === "shown" ? null : { outcome: { code: "queue_busy", reason } };
}

export function startTask({ way, rules, event, trace, now, situation }: InHand): Decision {
  const unknown = trace.steps.find(({ step, result }) => step === "path" && result === "unknown");
  const outcome: Outcome = { code: "accepted", reason: unknown?.detail ?? reasonText("all_passed") };
  if (!way.task) {
    trace.add("task", "pass", event.rawRef, "", reasonText("task_would_start"));
    return { outcome };
  }
  const { project, queue } = situation;
  const order: TaskOrder = {
    ...orderOf(rules, project, event),
    project,
    triggerType: "webhook",
    actions: actionsFor(rules, event),
    deliveryId: null,
    rerunOf: null,
    notBefore: startOf(way, rules, event, now),
  };
  trace.add("task", "pass", order.ref, "", reasonText("task_started"));
  return {
    outcome,
    start: { task: newTaskOf(order, now), place: queue === null ? null : placeAtTheEnd(queue) },
  };
}

/** A task that a following report completes waits at least this long for it. */
const announcementSeconds = 5;

/** When a delivery's task may start; null: at once. */
export function startOf(way: WayIn, rules: HookRules, event: NormalizedEvent, now: Date): Date | null {
  const atLeast = isCompletedByPush(rules, event) && way.debounce === true ? announcementSeconds : 0;
  const waitSeconds = way.debounce ? Math.max(rules.debounceSeconds, atLeast) : 0;
  return waitSeconds === 0 ? null : new Date(now.getTime() + waitSeconds * 1000);
}

/** Whether the push of the same change, which follows, takes over the task: it names the commit, or runs more stages. */
function isCompletedByPush(rules: HookRules, event: NormalizedEvent): boolean {
  const { announcedBy } = sourceOf(event);
  if (announcedBy === "push") return false;
  const own = actionsFor(rules, event);
  const isPart = !coversStages(own, rules.actions) && coversStages(rules.actions, own);
  return event.commit === null || (announcedBy === "merge" && isPart);
}

/** Longest name of an account; an index of PostgreSQL refuses much longer ones, and no task of theirs could end. */
const maxNameBytes = 255;

function shortName(name: string): string {
  return cutAtBytes(name, maxNameBytes);
}

export function orderOf(rules: HookRules, project: Project, event: NormalizedEvent): BuildOrder {
  const author = shortName(event.author);
  const who = {
    message: cutAtBytes(event.message, maxMessageBytes),
    author,
    triggeredBy: author || "webhook",
    source: sourceOf(event),
  };
  // Git needs the full name to fetch a commit; a short one is only recorded.
  const commit = event.commit !== null && isCommit(event.commit) ? event.commit.toLowerCase() : null;
  if (rules.refSource === "webhook")
    return { ...who, ref: event.rawRef, commit, causeRef: null, causeCommit: null };
  const ref = toFullRef(project.git.ref);
  return {
    ...who,
    ref,
    // Only a push of the built branch itself determines its commit.
    commit: event.rawRef === ref ? commit : null,
    causeRef: event.rawRef,
    causeCommit: event.commit,
  };
}
