import { Fault } from "../../errors.ts";
import { type NormalizedEvent, normalizedEvent, refChange } from "../../git-host/delivery/event.ts";
import {
  type Delivery,
  type DeliveryAnswer,
  type DeliveryReplay,
  type DeliverySummary,
  deliveryAnswer,
  deliverySchema,
  deliverySummary,
  traceStep,
} from "../../model/delivery.ts";
import { eventJson } from "../../model/event-json.ts";
import { inOrder, newReason, renderReason, sentencesOf } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { type Answer, isRefused } from "../../webhook/decide/outcome.ts";
import { withReplacedBy } from "../../webhook/decide/record.ts";
import { reasonPartsShape, traceJson } from "./reason-shape.ts";
import { answered, queryTime, text, time } from "./scalars.ts";
import { listOf, z } from "./shape.ts";

export const { status: statusShape, code: codeShape } = deliverySummary.shape;

/** What a configuration makes of a delivery. */
export const judgementShape = z.object({
  ...answered(deliverySummary.pick({ status: true, code: true, reason: true })),
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
    ...answered(deliveryAnswer),
    reasonParts: reasonPartsShape.optional(),
    messageParts: reasonPartsShape.optional(),
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

const detailShape = z.object({ ...answered(traceStep), detailParts: reasonPartsShape });
export const traceShape = z.array(detailShape.openapi("TraceStep"));

/** The API calls `skip` `nothing`. */
const nothing = z.object({ code: refChange.shape.skip.unwrap().shape.code, reason: z.string() }).nullable();

export const normalizedShape = z
  .object({
    ...normalizedEvent.omit({ skip: true }).shape,
    nothing,
    pathsUnknownBecause: z.string().nullable(),
    otherRefs: z
      .array(refChange.omit({ skip: true }).extend({ nothing }).openapi("RefChange"))
      .optional()
      .openapi({ description: "Other refs of a push that names several; they are not built." }),
  })
  .openapi("NormalizedEvent");

export const summaryShape = z
  .object({ ...answered(deliverySummary), reason_parts: reasonPartsShape })
  .openapi("DeliverySummary");

export const deliveryShape = summaryShape
  .extend({
    ...deliverySchema.pick({ body: true, headers: true }).shape,
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
