import type { Clock } from "../../clock.ts";
import type { Delivery } from "../../model/delivery.ts";
import type { Keepers } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";
import { type ApiContext, callerOf } from "./context.ts";
import {
  countsShape,
  deliveryFilter,
  deliveryJson,
  deliveryList,
  deliveryShape,
  summaryJson,
} from "./delivery-shape.ts";
import type { ApiDeps } from "./deps.ts";
import { found, newApi, routesOf } from "./route.ts";
import { maxId, queryId } from "./scalars.ts";
import { json, listJson, onlyGiven, pageQuery, z } from "./shape.ts";

const route = routesOf("deliveries");

const queryProjectId = z.coerce.number().int().min(0).max(maxId).openapi({
  type: "integer",
  minimum: 0,
  example: 7,
  description: "0: deliveries at no project, such as hits on unknown keys, which only admins see.",
});

const listDeliveries = route("get", "/webhooks/deliveries", {
  summary: "List deliveries",
  description: "Newest first; those of projects that the caller may view. `from` is included, `to` is not.",
  access: "signed-in",
  query: {
    ...pageQuery,
    projectId: queryProjectId.optional(),
    groupId: queryId.optional(),
    ...deliveryFilter,
  },
  ok: json("One page of deliveries.", deliveryList),
});

const getDelivery = route("get", "/webhooks/deliveries/{id}", {
  summary: "One delivery",
  description: "With its body, what was read from it, the trace of the decision, and its replays.",
  access: "signed-in",
  ok: json("The delivery.", deliveryShape),
});

const replaysShown = 20;

const statsBucketSeconds = 900;
const dayMs = 86_400_000;

const deliveryStats = route("get", "/webhooks/stats", {
  summary: "Outcomes of the last day",
  description:
    "Deliveries by status in steps of a quarter of an hour, of the projects that the caller may view.",
  access: "signed-in",
  ok: json("Counts, oldest first; steps without a delivery are left out.", countsShape),
});

export function deliveriesApi({ store: { deliveries }, clock }: ApiDeps) {
  return newApi()
    .openapi(listDeliveries, async (c) => {
      const { page, pageSize, ...filter } = c.req.valid("query");
      const visibleProjectIds = await c.var.permissions.visibleProjectIds(callerOf(c));
      const list = await deliveries.list(onlyGiven({ ...filter, visibleProjectIds }), { page, pageSize });
      return c.json(listJson(list, summaryJson), 200);
    })
    .openapi(getDelivery, async (c) => {
      const { id: deliveryId } = c.req.valid("param");
      const delivery = await visibleDelivery(c, await deliveries.byId(deliveryId), deliveryId);
      return c.json(deliveryJson(delivery, await deliveries.replaysOf(deliveryId, replaysShown)), 200);
    })
    .openapi(deliveryStats, async (c) => {
      const visibleProjectIds = await c.var.permissions.visibleProjectIds(callerOf(c));
      return c.json(await deliveryCounts(deliveries, clock, visibleProjectIds), 200);
    });
}

/** The outcomes of the last day. */
export async function deliveryCounts(
  deliveries: Pick<Keepers["deliveries"], "countByStatus">,
  clock: Clock,
  visibleProjectIds: number[] | undefined,
) {
  const to = new Date(clock.now());
  const from = new Date(to.getTime() - dayMs);
  const counts = await deliveries.countByStatus(
    onlyGiven({ visibleProjectIds, from, to, bucketSeconds: statsBucketSeconds }),
  );
  const items = counts.map(({ bucketStart, status, count }) => ({
    at: bucketStart.toISOString(),
    status,
    count,
  }));
  return { from: from.toISOString(), to: to.toISOString(), bucketSeconds: statsBucketSeconds, items };
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
  return found(
    isVisible ? delivery : null,
    newReason("none_visible", { noun: newReason("noun_delivery"), id: deliveryId }),
  );
}
