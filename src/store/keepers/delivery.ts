import type { SelectQueryBuilder } from "kysely";
import type { Delivery, DeliveryKeeper } from "../../model/delivery.ts";
import { newReason } from "../../reason/reason.ts";
import { cappedCount, maxPageSize, sliceOf } from "../query/page.ts";
import type { Schema } from "../query/schema.ts";
import { orFault, type Scope } from "../query/scope.ts";
import { countByStatus } from "./delivery-count.ts";
import { matching, newest, resolve } from "./delivery-list.ts";
import { overtakenDeliveries, scanDeliveries } from "./delivery-scan.ts";
import { deliveryShape, summaryShape } from "./delivery-shape.ts";
import { insertRecord, insertWithTask, newRowOf } from "./new-delivery.ts";
import { noProject, queuedTask } from "./new-task.ts";
import { projectStateOf } from "./project-state.ts";
import { replacedBy, replacements } from "./replaced-delivery.ts";
import { taskShape } from "./task-shape.ts";

function readWhole(row: object & { replaced_by: number | null }): Delivery {
  return { ...deliveryShape.read(row), replaced_by: row.replaced_by };
}

export function buildDeliveryKeeper(scope: Scope): DeliveryKeeper {
  const { db } = scope;
  const deleteAll = async (ids: SelectQueryBuilder<Schema, "deliveries", { id: number }>) => {
    const result = await db.deleteFrom("deliveries").where("id", "in", ids).executeTakeFirst();
    return Number(result.numDeletedRows);
  };

  return {
    create: (delivery, tip = null) =>
      orFault(scope.dialect, insertRecord(scope, newRowOf(delivery), tip), {
        missing: newReason("gone_project", { id: delivery.project_id }),
      }),
    async createWithTask(delivery, task, tip = null) {
      const queued = queuedTask(task);
      const made = await orFault(
        scope.dialect,
        insertWithTask(scope, newRowOf(delivery), taskShape.insert(queued), tip),
        noProject(task),
      );
      return { id: made.id, task: { ...queued, id: made.taskId, deliveryId: made.id } };
    },
    async byId(id) {
      const row = await db
        .selectFrom("deliveries")
        .selectAll()
        .select(replacedBy)
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
    async list(filter, request) {
      const { page, pageSize, offset } = sliceOf(request);
      const resolved = await resolve(scope, filter);
      const { found, total } = await newest(scope, resolved, offset + pageSize);
      const rows = await found
        .select(summaryShape.columns)
        .select(replacedBy)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(pageSize)
        .offset(offset)
        .execute();
      const items = rows.map((row) => ({ ...summaryShape.read(row), replaced_by: row.replaced_by }));
      return {
        items,
        total: total ?? (await cappedCount(scope.db, matching(scope, resolved))),
        page,
        pageSize,
      };
    },
    async latest(filter, limit, place = null) {
      const count = Math.min(limit, maxPageSize);
      const resolved = await resolve(scope, filter);
      const { found } = await newest(scope, place === null ? resolved : { ...resolved, place }, count);
      const rows = await found
        .selectAll()
        .select(replacedBy)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(count)
        .execute();
      return rows.map(readWhole);
    },
    scan: (filter, place, limit) => scanDeliveries(scope, filter, place, limit),
    overtaken: (ids) => overtakenDeliveries(scope, ids),
    projectState: (request) => projectStateOf(scope, request),
    async addToCount(id, more) {
      const result = await db
        .updateTable("deliveries")
        .set((eb) => ({ count: eb("count", "+", more) }))
        .where("id", "=", id)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    ...replacements(scope),
    countByStatus: (filter) => countByStatus(scope, filter),
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
