import type { Delivery, DeliveryPlace } from "../../model/delivery.ts";
import { renderReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { existing } from "../../revision.ts";
import { type BulkReplay, maxReplayed, maxScanned } from "../../webhook/bulk-replay.ts";
import { type ApiContext, audit, callerOf } from "./context.ts";
import {
  answerJson,
  answerShape,
  deliveryFilter,
  judgementShape,
  summaryJson,
  summaryShape,
  triggered,
  triggerFaults,
} from "./delivery-shape.ts";
import type { ApiDeps } from "./deps.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { newApi, routesOf } from "./route.ts";
import { id } from "./scalars.ts";
import { json, onlyGiven, strict, z } from "./shape.ts";

const route = routesOf("deliveries");

const replayDelivery = route("post", "/webhooks/deliveries/{id}/replay", {
  summary: "Replay a delivery",
  description:
    "Triggers again from what is stored, ignoring signature, debounce and event list. 409 when nothing usable is stored, the " +
    "signature failed and `force` is not set, or the webhook is not enabled. Without `force` the event list applies to a " +
    "delivery that was refused before its event was checked, for example over the rate limit.",
  access: "admin",
  faults: {
    ...triggerFaults,
    404: "There is no such delivery.",
    409: "Nothing usable is stored, the signature had failed, or the webhook is not enabled.",
  },
  body: strict({ force: z.boolean().default(false) }),
  ok: json("The delivery created no task.", answerShape),
  accepted: json("A task was created.", answerShape),
});

const count = z.number().int();

const replayDeliveries = route("post", "/webhooks/deliveries/replay", {
  summary: "Replay many deliveries",
  description:
    `Of the list that the filter finds, the latest of each ref, newest refs first, at most ${maxReplayed} in one call; send \`next\` back as ` +
    "`after` for those that are left. A ref with a newer delivery that was accepted or merged, or that deleted it, is not replayed. The event list applies, and deliveries with a failed signature are not replayed. By default only a preview. " +
    `Of more than ${maxScanned} deliveries the newest ${maxScanned} are looked at.`,
  access: "admin",
  body: strict({
    preview: z.boolean().default(true),
    filter: strict({ ...deliveryFilter, projectId: id.optional(), groupId: id.optional() }).default({}),
    after: z
      .string()
      .regex(/^\d{1,16}-\d{1,16}$/, ruleText("next_invalid"))
      .nullable()
      .optional(),
    only: z.array(id).max(maxReplayed).optional().openapi({
      description:
        "Ids of deliveries, as chosen from a preview: of what would be replayed, only these. Nothing is left then; `next` of the preview goes on.",
    }),
  }),
  ok: json(
    "What is or would be replayed, and what is not. The counts add up to `matched`.",
    z
      .object({
        preview: z.boolean(),
        message: z.string(),
        hint: z.string().nullable().openapi({ description: "How to go on with what is left." }),
        matched: count.openapi({
          description: "Found by the filter, without what earlier calls went through.",
        }),
        replayed: count.openapi({ description: "In a preview: would be replayed." }),
        failed: count.openapi({
          description: "Could not be replayed, or was refused; `problem` says why.",
        }),
        older: count.openapi({ description: "Older ones of refs of which a newer one was found." }),
        overtaken: count.openapi({
          description: "Of refs that have a newer delivery, accepted or merged, or that were deleted since.",
        }),
        unverified: count.openapi({
          description: "Their signature failed; each must be replayed individually, with `force`.",
        }),
        nothing: count.openapi({
          description: "Have nothing to build, or are replays or tests.",
        }),
        unselected: count.openapi({ description: "Would be replayed, but are not in `only`." }),
        left: count.openapi({ description: "For the next call." }),
        isCut: z.boolean().openapi({ description: "The filter finds more than were looked at." }),
        next: z.string().nullable(),
        items: z
          .array(
            z.object({
              delivery: summaryShape,
              expected: judgementShape.nullable().openapi({
                description:
                  "In a preview: the outcome by the current rules, each delivery on its own. Null after a replay.",
              }),
              response: answerShape.nullable(),
              problem: z.string().nullable().openapi({
                description: "Why it was not replayed; a refusal has its record in `response`.",
              }),
              problemParts: reasonPartsShape,
            }),
          )
          .openapi({ description: "Oldest first." }),
      })
      .openapi("BulkReplay"),
  ),
});

export function replaysApi({ store: { deliveries }, webhook: { replays } }: ApiDeps) {
  return newApi()
    .openapi(replayDelivery, async (c) => {
      const { id: deliveryId } = c.req.valid("param");
      const { force } = c.req.valid("json");
      const delivery = existing(await deliveries.byId(deliveryId), "delivery", deliveryId);
      const answer = await replays.replay(delivery, force, callerOf(c).username);
      await auditReplay(c, delivery, { force, deliveryId: answer.body.deliveryId });
      return c.json(...triggered(answer));
    })
    .openapi(replayDeliveries, async (c) => {
      const { filter, preview, after, only } = c.req.valid("json");
      const bulk = await replays.replayMany({
        filter: onlyGiven(filter),
        after: after ? placeOf(after) : null,
        only: only ?? null,
        preview,
        username: callerOf(c).username,
        onReplayed: (delivery, { deliveryId }) => auditReplay(c, delivery, { deliveryId }),
      });
      const { next, items, ...counts } = bulk;
      const failed = failedOf(bulk);
      return c.json(
        {
          preview,
          message: summaryOf(bulk, preview),
          hint: next === null ? null : "Send next back as after to go on with those that are left.",
          ...counts,
          replayed: items.length - failed,
          failed,
          next: next && `${next.created_at.getTime()}-${next.id}`,
          items: items.map((item) => ({
            ...item,
            delivery: summaryJson(item.delivery),
            expected: item.expected && { ...item.expected, ...reasonJson({ reason: item.expected.reason }) },
            response: item.response && answerJson(item.response),
            ...(item.problem === null
              ? { problem: null, problemParts: [] }
              : reasonJson({ problem: item.problem })),
          })),
        },
        200,
      );
    });
}

function placeOf(text: string): DeliveryPlace {
  const [time, deliveryId] = text.split("-").map(Number);
  return { created_at: new Date(time ?? 0), id: deliveryId ?? 0 };
}

function failedOf({ items }: BulkReplay): number {
  return items.filter(({ problem }) => problem !== null).length;
}

function summaryOf(bulk: BulkReplay, preview: boolean): string {
  const { matched, items, older, overtaken, unverified, nothing, unselected, left, isCut } = bulk;
  const failed = failedOf(bulk);
  const rest = [
    [failed, "that failed"],
    [older, "older of the same refs"],
    [overtaken, "overtaken by a newer delivery of their ref, or deleted since"],
    [unverified, "whose signature had failed"],
    [nothing, "with nothing to build"],
    [unselected, "not selected"],
  ] as const;
  const skipped = rest.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`);
  const sentences = [
    `${matched} found, ${items.length - failed} ${preview ? "would be replayed" : "replayed"}${skipped.length > 0 ? `; not replayed: ${skipped.join(", ")}` : ""}.`,
  ];
  const first = items.find(({ problem }) => problem !== null);
  if (first) sentences.push(`Delivery ${first.delivery.id}: ${renderReason(first.problem ?? "")}`);
  if (unverified > 0)
    sentences.push(
      "The sender of a delivery with a failed signature is unknown: to replay a delivery that you trust, do so individually, with force.",
    );
  if (left > 0) sentences.push(`${left} more refs are left.`);
  if (isCut)
    sentences.push(`Only the newest ${maxScanned} were looked at: narrow the filter for those before.`);
  return sentences.join(" ");
}

function auditReplay(c: ApiContext, delivery: Delivery, detail: Record<string, unknown>): Promise<void> {
  return audit(c, {
    action: "delivery.replay",
    subject: `delivery ${delivery.id}`,
    projectId: delivery.project_id || null,
    detail,
  });
}
