import type { NewDelivery, NormalizedEvent } from "../../model/delivery.ts";
import type { ProviderName } from "../../model/webhook-config.ts";
import { reasonText } from "../../reason/reason.ts";
import { firstLineOf } from "./filters.ts";
import { type Outcome, outcomes, shortReason } from "./outcome.ts";
import { cutAtBytes, maxMessageBytes, visible } from "./stored-body.ts";
import type { Trace } from "./trace.ts";

/** The data of a delivery when it is recorded. */
export interface Known {
  projectId: number;
  projectName: string;
  provider: ProviderName | "";
  event: NormalizedEvent | null;
  /** Already masked, truncated and storable. */
  body: string;
  headers: Record<string, string>;
  hostDeliveryId: string | null;
  remoteIp: string;
  arrivedAt: Date;
  trace: Trace;
  replayOf: number | null;
  formerProjectId: number | null;
}

const maxCommitMessage = 200;
const maxFieldLength = 300;

/** The task's id is set when the task is created. */
export function recordOf(
  known: Known,
  outcome: Outcome,
  createdAt: Date,
  mergedIntoTaskId: number | null = null,
): NewDelivery {
  const { event } = known;
  const { httpStatus, status } = outcomes[outcome.code];
  return {
    project_id: known.projectId,
    project_name: known.projectName,
    provider: known.provider,
    event: event?.event ?? "",
    ref: fieldOf(event?.ref ?? ""),
    ref_type: event?.refType ?? "",
    commit: fieldOf(event?.commit ?? ""),
    commit_message: commitMessageOf(event?.message ?? ""),
    author: fieldOf(event?.author ?? ""),
    status,
    reason: visible(shortReason(outcome.reason)),
    task_id: 0,
    remote_ip: known.remoteIp,
    body: known.body,
    created_at: createdAt,
    code: outcome.code,
    http_status: httpStatus,
    count: 1,
    host_delivery_id: fieldOf(known.hostDeliveryId ?? ""),
    replay_of: known.replayOf,
    merged_into_task_id: mergedIntoTaskId,
    former_project_id: known.formerProjectId,
    headers: known.headers,
    normalized: event && withMessage(event, cutAtBytes(event.message, maxMessageBytes)),
    trace: known.trace.steps,
  };
}

/** In characters of its JSON; a usual event takes one or two thousand. */
const maxUnprovenEvent = 16 * 1024;
const maxUnprovenMessageBytes = 4096;

/**
 * The record of an unverified sender keeps only what is needed to recognise the event and to replay it with `force`, without
 * a list of ten thousand paths: anyone can send such events in large numbers.
 */
export function withBoundedEvent(known: Known): Known {
  const { event } = known;
  if (event === null || JSON.stringify(event).length <= maxUnprovenEvent) return known;
  const { otherRefs: _otherRefs, ...rest } = event;
  const bounded = {
    ...rest,
    paths: null,
    pathsUnknownBecause: reasonText("paths_unproven"),
    message: cutAtBytes(event.message, maxUnprovenMessageBytes),
  };
  return { ...known, event: JSON.stringify(bounded).length <= maxUnprovenEvent ? bounded : null };
}

function withMessage(event: NormalizedEvent, message: string): NormalizedEvent {
  return message === event.message ? event : { ...event, message };
}

/** Cut before it is escaped, so that a long line costs little, and again after, because escapes are longer. */
function commitMessageOf(message: string): string {
  return firstCharacters(visible(firstCharacters(firstLineOf(message), maxCommitMessage)), maxCommitMessage);
}

/** Whole characters; each is at most two UTF-16 units. */
function firstCharacters(text: string, count: number): string {
  return text.length <= count ? text : [...text.slice(0, 2 * count)].slice(0, count).join("");
}

function fieldOf(text: string): string {
  return visible(text.length <= maxFieldLength ? text : `${text.slice(0, maxFieldLength)}…`);
}

/** The form in lists. */
export function summaryOf<D extends NewDelivery>(
  delivery: D,
): Omit<D, "body" | "headers" | "normalized" | "trace"> {
  const { body: _body, headers: _headers, normalized: _normalized, trace: _trace, ...summary } = delivery;
  return summary;
}
