import { pollEvent } from "../../git-host/delivery/normalized.ts";
import type { NormalizedEvent, ProjectState } from "../../model/delivery.ts";
import { isCommit, toFullRef } from "../../model/git/git-ref.ts";
import type { Project } from "../../model/project.ts";
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
import type { DeliveryKind } from "./delivery-kind.ts";
import type { Outcome } from "./outcome.ts";
import { cutAtBytes, maxMessageBytes } from "./stored-body.ts";
import type { Trace } from "./trace.ts";

/** The actions that a decision consists of. Deciding only reads; record.ts carries the actions out in one write. */
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
  /** Whether the host may report one change in more than one kind. */
  hasRepeats: boolean;
}

/** A delivery that passed the filters, and the state of its project. */
export interface InHand {
  kind: DeliveryKind;
  rules: HookRules;
  event: NormalizedEvent;
  trace: Trace;
  now: Date;
  state: ProjectState;
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

export function startTask({ kind, rules, event, trace, now, state }: InHand): Decision {
  const unknown = trace.steps.find(({ step, result }) => step === "path" && result === "unknown");
  const outcome: Outcome = { code: "accepted", reason: unknown?.detail ?? reasonText("all_passed") };
  if (!kind.task) {
    trace.add("task", "pass", event.rawRef, "", reasonText("task_would_start"));
    return { outcome };
  }
  const { project, queue } = state;
  const order: TaskOrder = {
    ...orderOf(rules, project, event),
    project,
    triggerType: "webhook",
    actions: actionsFor(rules, event),
    deliveryId: null,
    rerunOf: null,
    notBefore: startOf(kind, rules, event, now),
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
export function startOf(
  kind: DeliveryKind,
  rules: HookRules,
  event: NormalizedEvent,
  now: Date,
): Date | null {
  const atLeast = isCompletedByPush(rules, event) && kind.debounce === true ? announcementSeconds : 0;
  const waitSeconds = kind.debounce ? Math.max(rules.debounceSeconds, atLeast) : 0;
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
