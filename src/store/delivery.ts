import type { Delivery, DeliveryKeeper, DeliveryStatus, DeliverySummary } from "../model/delivery.ts";
import { countByStatus } from "./delivery-count.ts";
import { findDeliveries } from "./delivery-list.ts";
import { cappedCount, maxPageSize, sliceOf } from "./page.ts";
import { json, optional, plain, rowShape, time } from "./row.ts";
import type { Scope } from "./scope.ts";

const summaryFields = {
  id: plain<number>(),
  project_id: plain<number>(),
  project_name: plain<string>(),
  provider: plain<Delivery["provider"]>(),
  event: plain<Delivery["event"]>(),
  ref: plain<string>(),
  ref_type: plain<Delivery["ref_type"]>(),
  commit: plain<string>(),
  commit_message: plain<string>(),
  author: plain<string>(),
  status: plain<DeliveryStatus>(),
  reason: plain<string>(),
  task_id: plain<number>(),
  remote_ip: plain<string>(),
  created_at: time,
  code: plain<Delivery["code"]>(),
  http_status: plain<number>(),
  count: plain<number>(),
  host_delivery_id: plain<string>(),
  repeat_of: plain<number | null>(),
  replay_of: plain<number | null>(),
  merged_into_task_id: plain<number | null>(),
  former_project_id: plain<number | null>(),
};
const summaryShape = rowShape<DeliverySummary, "deliveries">(summaryFields);
const shape = rowShape<Delivery, "deliveries">({
  ...summaryFields,
  headers: json(),
  normalized: optional(json()),
  trace: json(),
  body: plain(),
});

/** Values of remote_ip that mark a delivery as no live one. */
const notLive = ["test", "replay"];

export function buildDeliveryKeeper(scope: Scope): DeliveryKeeper {
  const { db } = scope;

  const firstWithHostId = (hostDeliveryId: string, projectId: number) =>
    db
      .selectFrom("deliveries")
      .select("id")
      .where("host_delivery_id", "=", hostDeliveryId)
      .where("project_id", "=", projectId)
      .orderBy("id")
      .limit(1);

  return {
    async create(delivery) {
      const isRepeatable = delivery.host_delivery_id !== "" && delivery.replay_of === null;
      const row = await db
        .insertInto("deliveries")
        .values({
          ...shape.insert(delivery),
          repeat_of: isRepeatable ? firstWithHostId(delivery.host_delivery_id, delivery.project_id) : null,
        })
        .returning("id")
        .executeTakeFirstOrThrow();
      return row.id;
    },
    async byId(id) {
      const row = await db.selectFrom("deliveries").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async list(filter, request) {
      const { page, pageSize, offset } = sliceOf(request);
      const found = findDeliveries(scope, filter);
      const rows = await found
        .select(summaryShape.columns)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(pageSize)
        .offset(offset)
        .execute();
      return { items: rows.map(summaryShape.read), total: await cappedCount(db, found), page, pageSize };
    },
    async latest(filter, limit) {
      const rows = await findDeliveries(scope, filter)
        .selectAll()
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(Math.min(limit, maxPageSize))
        .execute();
      return rows.map(shape.read);
    },
    async lastAccepted(projectId, since, ref) {
      const row = await db
        .selectFrom("deliveries")
        .select(["id", "task_id", "created_at"])
        .where("project_id", "=", projectId)
        .where("status", "=", "accepted")
        .where("created_at", ">", since.getTime())
        .where("remote_ip", "not in", notLive)
        .$if(ref !== undefined, (query) => query.where("ref", "=", ref ?? ""))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(1)
        .executeTakeFirst();
      return row === undefined ? null : { ...row, created_at: new Date(row.created_at) };
    },
    async addToCount(id, more) {
      const result = await db
        .updateTable("deliveries")
        .set((eb) => ({ count: eb("count", "+", more) }))
        .where("id", "=", id)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    countByStatus: (filter) => countByStatus(scope, filter),
    async deleteOlderThan(before, limit) {
      const old = db
        .selectFrom("deliveries")
        .select("id")
        .where("created_at", "<", before.getTime())
        .orderBy("created_at")
        .limit(limit);
      const result = await db.deleteFrom("deliveries").where("id", "in", old).executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
