import type { Clock } from "../../clock.ts";
import type { Delivery, DeliveryFilter } from "../../model/delivery.ts";
import type { Keepers } from "../../model/store.ts";
import type { Replays } from "../../webhook/replay.ts";
import { type ApiContext, audit, callerOf } from "./context.ts";
import {
  answerShape,
  codeShape,
  deliveryJson,
  deliveryList,
  deliveryShape,
  statusShape,
  summaryJson,
  summaryShape,
} from "./delivery-shape.ts";
import { found, newApi, route } from "./route.ts";
import {
  id,
  idParams,
  json,
  jsonBody,
  listJson,
  onlyGiven,
  pageOf,
  pageQuery,
  queryId,
  queryTime,
  strict,
  text,
  time,
  z,
} from "./shape.ts";

const tags = ["deliveries"];

const search = text(300).openapi({ description: "The host's delivery id, a commit or a ref, exactly." });

const listDeliveries = route({
  method: "get",
  path: "/webhooks/deliveries",
  tags,
  summary: "List deliveries",
  description: "Newest first; those of projects that the caller may view. `from` is included, `to` is not.",
  access: "signed-in",
  request: {
    query: strict({
      ...pageQuery,
      projectId: queryId.optional(),
      groupId: queryId.optional(),
      status: statusShape.optional(),
      code: codeShape.optional(),
      from: queryTime.optional(),
      to: queryTime.optional(),
      search: search.optional(),
    }),
  },
  responses: { 200: json("One page of deliveries.", deliveryList) },
});

const getDelivery = route({
  method: "get",
  path: "/webhooks/deliveries/{id}",
  tags,
  summary: "One delivery",
  description: "With its body, what was read from it, and the trace of the decision.",
  access: "signed-in",
  request: { params: idParams("id") },
  responses: { 200: json("The delivery.", deliveryShape) },
});

const replayDelivery = route({
  method: "post",
  path: "/webhooks/deliveries/{id}/replay",
  tags,
  summary: "Replay a delivery",
  description:
    "Triggers again from what is stored, ignoring signature, debounce and event list. 409 when nothing usable is stored, or the " +
    "signature had failed and `force` is not set.",
  access: "admin",
  request: { params: idParams("id"), body: jsonBody(strict({ force: z.boolean().default(false) })) },
  responses: {
    200: json("The delivery created no task.", answerShape),
    202: json("A task was created.", answerShape),
  },
});

const replayDeliveries = route({
  method: "post",
  path: "/webhooks/deliveries/replay",
  tags,
  summary: "Replay many deliveries",
  description:
    "Of the deliveries that the filter finds, the latest of each ref, at most 100. By default only a preview of which they are.",
  access: "admin",
  request: {
    body: jsonBody(
      strict({
        preview: z.boolean().default(true),
        filter: strict({
          projectId: id.optional(),
          groupId: id.optional(),
          status: statusShape.optional(),
          code: codeShape.optional(),
          from: time.optional(),
          to: time.optional(),
          search: search.optional(),
        }),
      }),
    ),
  },
  responses: {
    200: json(
      "What is or would be replayed, oldest first.",
      z.object({
        preview: z.boolean(),
        items: z.array(z.object({ delivery: summaryShape, response: answerShape.nullable() })),
      }),
    ),
  },
});

const statsBucketSeconds = 900;
const dayMs = 86_400_000;

const deliveryStats = route({
  method: "get",
  path: "/webhooks/stats",
  tags,
  summary: "Outcomes of the last day",
  description:
    "Deliveries by status in steps of a quarter of an hour, of the projects that the caller may view.",
  access: "signed-in",
  responses: {
    200: json(
      "Counts, oldest first; steps without a delivery are left out.",
      z.object({
        from: time,
        to: time,
        bucketSeconds: z.number().int(),
        items: z.array(z.object({ at: time, status: statusShape, count: z.number().int() })),
      }),
    ),
  },
});

export interface DeliveriesDeps {
  keepers: Pick<Keepers, "deliveries">;
  replays: Replays;
  clock: Clock;
}

export function deliveriesApi({ keepers: { deliveries }, replays, clock }: DeliveriesDeps) {
  return newApi()
    .openapi(listDeliveries, async (c) => {
      const { page, pageSize, ...filter } = c.req.valid("query");
      const visibleProjectIds = await c.var.permissions.visibleProjectIds(callerOf(c));
      const list = await deliveries.list(
        onlyGiven({ ...filter, visibleProjectIds }),
        pageOf({ page, pageSize }),
      );
      return c.json(listJson(list, summaryJson), 200);
    })
    .openapi(getDelivery, async (c) => {
      const { id: deliveryId } = c.req.valid("param");
      return c.json(
        deliveryJson(await visibleDelivery(c, await deliveries.byId(deliveryId), deliveryId)),
        200,
      );
    })
    .openapi(replayDelivery, async (c) => {
      const { id: deliveryId } = c.req.valid("param");
      const { force } = c.req.valid("json");
      const delivery = found(await deliveries.byId(deliveryId), `delivery ${deliveryId}`);
      const answer = await replays.replay(delivery, force);
      await auditReplay(c, delivery, { force, deliveryId: answer.body.deliveryId });
      return c.json(answer.body, answer.httpStatus as 200);
    })
    .openapi(replayDeliveries, async (c) => {
      const { filter, preview } = c.req.valid("json");
      const { from, to, ...rest } = filter;
      const times = { from: from ? new Date(from) : undefined, to: to ? new Date(to) : undefined };
      const items = [];
      for (const delivery of await replays.candidates(onlyGiven({ ...rest, ...times }) as DeliveryFilter)) {
        const answer = preview ? null : await replays.replay(delivery, false);
        if (answer) await auditReplay(c, delivery, { deliveryId: answer.body.deliveryId });
        items.push({ delivery: summaryJson(delivery), response: answer?.body ?? null });
      }
      return c.json({ preview, items }, 200);
    })
    .openapi(deliveryStats, async (c) => {
      const to = new Date(clock.now());
      const from = new Date(to.getTime() - dayMs);
      const visibleProjectIds = await c.var.permissions.visibleProjectIds(callerOf(c));
      const counts = await deliveries.countByStatus(
        onlyGiven({ visibleProjectIds, from, to, bucketSeconds: statsBucketSeconds }),
      );
      const items = counts.map(({ bucketStart, status, count }) => ({
        at: bucketStart.toISOString(),
        status,
        count,
      }));
      const span = { from: from.toISOString(), to: to.toISOString(), bucketSeconds: statsBucketSeconds };
      return c.json({ ...span, items }, 200);
    });
}

/** Records of no project, such as hits on unknown keys, are for administrators; all others for who may view theirs. */
async function visibleDelivery(
  c: ApiContext,
  delivery: Delivery | null,
  deliveryId: number,
): Promise<Delivery> {
  const caller = callerOf(c);
  const visible = await c.var.permissions.visibleProjectIds(caller);
  const isVisible = delivery !== null && (visible === undefined || visible.includes(delivery.project_id));
  return found(isVisible ? delivery : null, `delivery ${deliveryId} that you may see`);
}

function auditReplay(c: ApiContext, delivery: Delivery, detail: Record<string, unknown>): Promise<void> {
  return audit(c, {
    action: "delivery.replay",
    subject: `delivery ${delivery.id}`,
    projectId: delivery.project_id || null,
    detail,
  });
}
