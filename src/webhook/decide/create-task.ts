import { pollEvent } from "../../git-host/delivery/normalized.ts";
import type { NormalizedEvent } from "../../model/delivery.ts";
import { isCommit, toFullRef } from "../../model/git/git-ref.ts";
import type { Project } from "../../model/project.ts";
import type { Actions } from "../../model/stage/actions.ts";
import { coversStages } from "../../model/stage/task-stages.ts";
import type { TaskSource } from "../../model/task.ts";
import { newReason } from "../../reason/reason.ts";
import { newTaskOf, type TaskOrder } from "../../task/release/task-order.ts";
import { type BuildOrder, type Decision, type HookConfig, type PassedDelivery, traceOn } from "./delivery.ts";
import type { DeliveryKind } from "./delivery-kind.ts";
import type { Outcome } from "./outcome.ts";
import { placeAtTheEnd } from "./queue-position.ts";
import { cutAtBytes, maxMessageBytes } from "./stored-body.ts";

/** The stages that a delivery of this event runs; null: all. */
export function actionsFor(config: HookConfig, event: NormalizedEvent): Actions | null {
  return event.event === "merge_request" ? (config.mergeRequestActions ?? config.actions) : config.actions;
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

/** The task of a delivery that has passed all steps. */
export function createTask(delivery: PassedDelivery): Decision {
  const { kind, config, event, now, state, traceparent } = delivery;
  const trace = traceOn(delivery.trace);
  const unknown = trace.steps.find(({ step, result }) => step === "path" && result === "unknown");
  const outcome: Outcome = { code: "accepted", reason: unknown?.detail ?? newReason("all_passed") };
  if (!kind.task) {
    trace.add("task", "pass", event.rawRef, "", newReason("task_would_start"));
    return { outcome };
  }
  const { project, queue } = state;
  const order: TaskOrder = {
    ...orderOf(config, project, event),
    project,
    triggerType: "webhook",
    actions: actionsFor(config, event),
    deliveryId: null,
    rerunOf: null,
    traceparent,
    notBefore: startOf(kind, config, event, now),
  };
  trace.add("task", "pass", order.ref, "", newReason("task_started"));
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
  config: HookConfig,
  event: NormalizedEvent,
  now: Date,
): Date | null {
  const atLeast = isCompletedByPush(config, event) && kind.debounce === true ? announcementSeconds : 0;
  const waitSeconds = kind.debounce ? Math.max(config.debounceSeconds, atLeast) : 0;
  return waitSeconds === 0 ? null : new Date(now.getTime() + waitSeconds * 1000);
}

/** Whether the push of the same change, which follows, takes over the task: it names the commit, or runs more stages. */
function isCompletedByPush(config: HookConfig, event: NormalizedEvent): boolean {
  const { announcedBy } = sourceOf(event);
  if (announcedBy === "push") return false;
  const own = actionsFor(config, event);
  const isPart = !coversStages(own, config.actions) && coversStages(config.actions, own);
  return event.commit === null || (announcedBy === "merge" && isPart);
}

/** Longest name of an account; an index of PostgreSQL refuses much longer ones, and no task of theirs could end. */
const maxNameBytes = 255;

function shortName(name: string): string {
  return cutAtBytes(name, maxNameBytes);
}

export function orderOf(config: HookConfig, project: Project, event: NormalizedEvent): BuildOrder {
  const author = shortName(event.author);
  const who = {
    message: cutAtBytes(event.message, maxMessageBytes),
    author,
    triggeredBy: author || "webhook",
    source: sourceOf(event),
  };
  // Git needs the full name to fetch a commit; a short one is only recorded.
  const commit = event.commit !== null && isCommit(event.commit) ? event.commit.toLowerCase() : null;
  if (config.refSource === "webhook")
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
