import type { DeliveryAnswer, DeliveryCode, DeliveryStatus } from "../../model/delivery.ts";
import type { Task, TaskWait } from "../../model/task.ts";
import { mapTexts, newReason, type Reason } from "../../reason/reason.ts";
import type { QueuePlace } from "./queue-position.ts";

/** HTTP status and delivery status of every code. */
export const outcomes = {
  accepted: { httpStatus: 202, status: "accepted" },
  endpoint_not_found: { httpStatus: 404, status: "rejected" },
  webhook_disabled: { httpStatus: 403, status: "rejected" },
  signature_invalid: { httpStatus: 401, status: "rejected" },
  body_too_large: { httpStatus: 413, status: "rejected" },
  rate_limited: { httpStatus: 429, status: "rejected" },
  lock_timeout: { httpStatus: 429, status: "rejected" },
  invalid_payload: { httpStatus: 400, status: "failed" },
  internal_error: { httpStatus: 500, status: "failed" },
  probe: { httpStatus: 200, status: "ignored" },
  ref_deleted: { httpStatus: 200, status: "ignored" },
  event_not_allowed: { httpStatus: 200, status: "ignored" },
  branch_not_matched: { httpStatus: 200, status: "ignored" },
  tag_not_matched: { httpStatus: 200, status: "ignored" },
  path_not_matched: { httpStatus: 200, status: "ignored" },
  skip_keyword: { httpStatus: 200, status: "ignored" },
  debounced: { httpStatus: 200, status: "merged" },
  queue_busy: { httpStatus: 200, status: "ignored" },
  ref_invalid: { httpStatus: 200, status: "ignored" },
  fork_not_allowed: { httpStatus: 200, status: "ignored" },
  repository_mismatch: { httpStatus: 200, status: "ignored" },
  duplicate: { httpStatus: 200, status: "merged" },
} as const satisfies Record<DeliveryCode, { httpStatus: number; status: DeliveryStatus }>;

/** The outcome of a delivery. Expected outcomes are values; only faults are thrown. */
export interface Outcome {
  code: DeliveryCode;
  /** For people, in the record and, unless `told` is set, in the response. */
  reason: Reason;
  /** The text for the sender where the reason would help an attacker. */
  told?: Reason;
  retryAfterSeconds?: number;
}

export interface Answer {
  httpStatus: number;
  retryAfterSeconds?: number;
  body: DeliveryAnswer;
}

/**
 * Reasons quote the sender and appear in lists. A value that a project sets, such as many patterns, is shorter than this.
 */
const maxReasonLength = 2_000;

export function shortReason(reason: Reason): Reason {
  return mapTexts(reason, (text) =>
    text.length <= maxReasonLength ? text : `${text.slice(0, maxReasonLength)}…`.toWellFormed(),
  );
}

/** Whether a delivery was rejected or failed before the rules were applied. */
export function isRefused({ status }: Pick<DeliveryAnswer, "status">): boolean {
  return status === "rejected" || status === "failed";
}

export function answerOf(outcome: Outcome, deliveryId: number, more: Partial<DeliveryAnswer> = {}): Answer {
  const { httpStatus, status } = outcomes[outcome.code];
  const reason = shortReason(outcome.told ?? outcome.reason);
  const body: DeliveryAnswer = {
    deliveryId,
    status,
    reason,
    message: reason,
    queued: false,
    code: outcome.code,
    ...more,
  };
  if (outcome.retryAfterSeconds === undefined) return { httpStatus, body };
  return { httpStatus, retryAfterSeconds: outcome.retryAfterSeconds, body };
}

/** The fields of the response about a new task. */
export function taskFieldsOf(
  { id, notBefore }: Task,
  { queued, position }: QueuePlace,
  wait: TaskWait | null,
): Partial<DeliveryAnswer> {
  const named = { task: id, position };
  const fields = { taskId: id, queued: true, queuePosition: position };
  // The Git host is informed only of a lasting reason, not of a runner that still has to connect.
  if (wait?.isLasting)
    return { ...fields, message: newReason("sent_waiting", { ...named, why: wait.reason }) };
  if (queued) return { ...fields, message: newReason("sent_queued", named) };
  const message =
    notBefore === null
      ? newReason("sent", { task: id })
      : newReason("sent_later", { task: id, time: notBefore.toISOString() });
  return { taskId: id, message };
}
