import type { SelectQueryBuilder } from "kysely";
import type { Delivery, DeliveryKeeper } from "../../model/delivery.ts";
import { newReason } from "../../reason/reason.ts";
import { inTransaction, longRead } from "../query/keeper-call.ts";
import { cappedCount, maxPageSize, sliceOf } from "../query/page.ts";
import type { Schema } from "../query/schema.ts";
import { orFault, type Scope } from "../query/scope.ts";
import { countByStatus } from "./delivery-count.ts";
import { matching, newest, resolve } from "./delivery-list.ts";
import { overtakenDeliveries, scanDeliveries } from "./delivery-scan.ts";
import { deliveryShape, summaryShape } from "./delivery-shape.ts";
import { insertDelivery, insertWithTask } from "./new-delivery.ts";
import { recentOf } from "./recent-work.ts";
import { followed, readFollowed, replacements } from "./replaced-delivery.ts";

function readWhole(row: object & Parameters<typeof readFollowed>[0]): Delivery {
  return { ...deliveryShape.read(row), ...readFollowed(row) };
}

export function buildDeliveryKeeper(scope: Scope): DeliveryKeeper {
  const { db } = scope;
  const deleteAll = async (ids: SelectQueryBuilder<Schema, "deliveries", { id: number }>) => {
    const result = await db.deleteFrom("deliveries").where("id", "in", ids).executeTakeFirst();
    return Number(result.numDeletedRows);
  };

  return {
    create: (delivery, tip = null) =>
      orFault(scope.dialect, insertDelivery(scope, delivery, tip), {
        missing: newReason("gone_project", { id: delivery.project_id }),
      }),
    createWithTask: inTransaction((delivery, task, tip = null) => insertWithTask(scope, delivery, task, tip)),
    async byId(id) {
      const row = await db
        .selectFrom("deliveries")
        .selectAll()
        .select(followed)
        .where("id", "=", id)
        .executeTakeFirst();
      return row === undefined ? null : readWhole(row);
    },
    async replaysOf(id, limit) {
      const rows = await db
        .selectFrom("deliveries")
        .select(["id", "status", "created_at"])
        .where("replay_of", "=", id)
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      return rows.map((row) => ({ ...row, created_at: new Date(row.created_at) }));
    },
    list: longRead(async (filter, request) => {
      const { page, pageSize, offset } = sliceOf(request);
      const resolved = await resolve(scope, filter);
      const { found, total } = await newest(scope, resolved, offset + pageSize);
      const rows = await found
        .select(summaryShape.columns)
        .select(followed)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(pageSize)
        .offset(offset)
        .execute();
      const items = rows.map((row) => ({ ...summaryShape.read(row), ...readFollowed(row) }));
      return {
        items,
        total: total ?? (await cappedCount(scope.db, matching(scope, resolved))),
        page,
        pageSize,
      };
    }),
    latest: longRead(async (filter, limit, place = null) => {
      const count = Math.min(limit, maxPageSize);
      const resolved = await resolve(scope, filter);
      const { found } = await newest(scope, place === null ? resolved : { ...resolved, place }, count);
      const rows = await found
        .selectAll()
        .select(followed)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(count)
        .execute();
      return rows.map(readWhole);
    }),
    scan: longRead((filter, place, limit) => scanDeliveries(scope, filter, place, limit)),
    overtaken: longRead((ids) => overtakenDeliveries(scope, ids)),
    recent: (request) => recentOf(scope, request),
    async addToCount(id, more) {
      const result = await db
        .updateTable("deliveries")
        .set((eb) => ({ count: eb("count", "+", more) }))
        .where("id", "=", id)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    ...replacements(scope),
    countByStatus: longRead((filter) => countByStatus(scope, filter)),
    deleteOlderThan: (before, limit) =>
      deleteAll(
        db
          .selectFrom("deliveries")
          .select("id")
          .where("created_at", "<", before.getTime())
          .orderBy("created_at")
          .limit(limit),
      ),
    deleteOfProject: (projectId, limit) =>
      deleteAll(db.selectFrom("deliveries").select("id").where("project_id", "=", projectId).limit(limit)),
  };
}
