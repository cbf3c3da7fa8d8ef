import { Fault } from "../../errors.ts";
import type { NormalizedEvent } from "../../git-host/delivery/event.ts";
import { providerNames } from "../../git-host/hosts.ts";
import {
  type Delivery,
  type DeliveryReplay,
  type DeliverySummary,
  deliveryStatuses,
} from "../../model/delivery.ts";
import { eventJson } from "../../model/event-json.ts";
import { eventNames } from "../../model/webhook-config.ts";
import { inOrder, newReason, renderReason, sentencesOf } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { type Answer, type DeliveryAnswer, deliveryCodes, isRefused } from "../../webhook/decide/outcome.ts";
import { withReplacedBy } from "../../webhook/decide/record.ts";
import { reasonPartsShape, traceJson } from "./reason-shape.ts";
import { queryTime, text, time } from "./scalars.ts";
import { listOf, z } from "./shape.ts";

export const statusShape = z.enum(deliveryStatuses);
export const codeShape = z.enum(deliveryCodes);

/** What a configuration makes of a delivery. */
export const judgementShape = z.object({
  status: statusShape,
  code: codeShape,
  reason: z.string(),
  reasonParts: reasonPartsShape,
});

/** Deliveries by outcome. */
export const countsShape = z.object({
  from: time,
  to: time,
  bucketSeconds: z.number().int(),
  items: z.array(z.object({ at: time, status: statusShape, count: z.number().int() })),
});

/** Filters of lists, in addition to project and group. */
export const deliveryFilter = {
  status: statusShape.optional(),
  code: codeShape.optional(),
  from: queryTime.optional(),
  to: queryTime.optional(),
  search: text(300).optional().openapi({
    description: "The host's delivery id or a ref, exactly; a commit, or at least 7 of its first digits.",
  }),
};

/** The delivery response body. */
export const answerShape = z
  .object({
    deliveryId: z.number().int(),
    taskId: z.number().int().optional(),
    mergedIntoTaskId: z.number().int().optional(),
    status: statusShape,
    reason: z.string(),
    reasonParts: reasonPartsShape.optional(),
    message: z.string(),
    messageParts: reasonPartsShape.optional(),
    queued: z.boolean(),
    queuePosition: z.number().int().optional(),
    code: codeShape,
  })
  .openapi("DeliveryResponse");

export function answerJson({ reason, message, ...body }: DeliveryAnswer) {
  return { ...body, ...reasonJson({ reason, message }) };
}

/** Errors of endpoints that trigger a delivery. */
export const triggerFaults = {
  409: "It was refused: the webhook is not enabled, or is gone. The message names the record.",
  429: "Deliveries of the project are too dense; `Retry-After` says when to try again.",
};

/** A refusal becomes an error of the API. Only Git hosts get it as a delivery response. */
export function triggered({ httpStatus, retryAfterSeconds, body }: Answer) {
  if (!isRefused(body)) {
    return [answerJson(body), httpStatus === 202 ? 202 : 200] as const;
  }
  const code = httpStatus === 429 ? "too_many" : httpStatus >= 500 ? "internal" : "conflict";
  const record = body.deliveryId === 0 ? "" : newReason("delivery_record", { delivery: body.deliveryId });
  throw new Fault(
    code,
    inOrder(body.reason, record),
    retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
  );
}

export const traceShape = z.array(
  z
    .object({
      step: z.string(),
      result: z.enum(["pass", "stop", "unknown", "skipped"]),
      value: z.string(),
      pattern: z.string(),
      detail: z.string(),
      detailParts: reasonPartsShape,
    })
    .openapi("TraceStep"),
);

const eventShape = z.enum(eventNames);
const refTypeShape = z.enum(["branch", "tag"]);

const refChangeFields = {
  event: eventShape.nullable(),
  rawRef: z.string(),
  ref: z.string(),
  refType: refTypeShape.nullable(),
  commit: z.string().nullable(),
  message: z.string(),
  nothing: z
    .object({ code: z.enum(["probe", "ref_deleted", "event_not_allowed"]), reason: z.string() })
    .nullable(),
};

export const normalizedShape = z
  .object({
    ...refChangeFields,
    rawEvent: z.string(),
    author: z.string(),
    paths: z.array(z.string()).nullable(),
    pathsUnknownBecause: z.string().nullable(),
    before: z.string().optional().openapi({
      description: "The commit before the push, if the host did not list all of its commits.",
    }),
    mergeRequest: z
      .object({
        action: z.string().nullable(),
        title: z.string(),
        sourceBranch: z.string(),
        targetBranch: z.string(),
        fromFork: z.boolean(),
        number: z.string().optional(),
        isMerged: z.boolean().optional(),
      })
      .nullable(),
    hostDeliveryId: z.string().nullable(),
    repository: z
      .array(z.string())
      .optional()
      .openapi({ description: "Addresses of the repository, as the host names it." }),
    sentBy: z
      .array(z.string())
      .optional()
      .openapi({ description: "Users who sent it by hand, as a test or a replay." }),
    otherRefs: z
      .array(z.object(refChangeFields).openapi("RefChange"))
      .optional()
      .openapi({ description: "Other refs of a push that names several; they are not built." }),
  })
  .openapi("NormalizedEvent");

const none = z.literal("");

export const summaryShape = z
  .object({
    id: z.number().int(),
    project_id: z.number().int(),
    project_name: z.string(),
    provider: z.union([z.enum(providerNames), none]),
    event: z.union([eventShape, none]),
    ref: z.string(),
    ref_type: z.union([refTypeShape, none]),
    commit: z.string(),
    commit_message: z.string(),
    author: z.string(),
    status: statusShape,
    reason: z.string(),
    reason_parts: reasonPartsShape,
    task_id: z.number().int(),
    remote_ip: z.string(),
    created_at: time,
    code: codeShape,
    http_status: z.number().int(),
    count: z.number().int(),
    host_delivery_id: z.string(),
    repeat_of: z.number().int().nullable(),
    replay_of: z.number().int().nullable(),
    merged_into_task_id: z.number().int().nullable(),
    replaced_by: z.number().int().nullable().openapi({
      description: "The delivery that took over its task within the debounce window and is built instead.",
    }),
    former_project_id: z.number().int().nullable(),
  })
  .openapi("DeliverySummary");

export const deliveryShape = summaryShape
  .extend({
    body: z.string(),
    headers: z.record(z.string(), z.string()),
    normalized: normalizedShape.nullable(),
    trace: traceShape,
    replays: z
      .array(z.object({ id: z.number().int(), status: statusShape, created_at: time }))
      .openapi({ description: "Its last replays, newest first; each names this delivery as `replay_of`." }),
  })
  .openapi("Delivery");

export const deliveryList = listOf(summaryShape, "DeliveryList");

type MaybeWhole = DeliverySummary & Partial<Pick<Delivery, "body" | "headers" | "normalized" | "trace">>;

export function summaryJson(delivery: MaybeWhole) {
  const {
    body: _body,
    headers: _headers,
    normalized: _normalized,
    trace: _trace,
    ...summary
  } = withReplacedBy(delivery);
  return {
    ...summary,
    reason: renderReason(summary.reason),
    reason_parts: sentencesOf(summary.reason),
    created_at: summary.created_at.toISOString(),
  };
}

/** An event with the English texts of its reasons. */
export function eventShown(event: NormalizedEvent) {
  const { otherRefs, pathsUnknownBecause, ...known } = eventJson(event);
  return {
    ...withText(known),
    pathsUnknownBecause: pathsUnknownBecause && renderReason(pathsUnknownBecause),
    ...(otherRefs && { otherRefs: otherRefs.map(withText) }),
  };
}

function withText<T extends { nothing: NormalizedEvent["skip"] }>({ nothing, ...rest }: T) {
  return { ...rest, nothing: nothing && { ...nothing, reason: renderReason(nothing.reason) } };
}

export function deliveryJson(delivery: Delivery, replays: DeliveryReplay[]) {
  const { normalized, created_at } = delivery;
  const replaced = withReplacedBy(delivery);
  return {
    ...replaced,
    reason: renderReason(replaced.reason),
    reason_parts: sentencesOf(replaced.reason),
    trace: traceJson(replaced.trace),
    normalized: normalized && eventShown(normalized),
    created_at: created_at.toISOString(),
    replays: replays.map((replay) => ({ ...replay, created_at: replay.created_at.toISOString() })),
  };
}
