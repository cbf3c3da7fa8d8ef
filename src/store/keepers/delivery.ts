import { type Insertable, type SelectQueryBuilder, type SqlBool, sql } from "kysely";
import {
  type Delivery,
  type DeliveryKeeper,
  type DeliveryStatus,
  type DeliverySummary,
  type DeliveryWindow,
  type NewDelivery,
  uncountedCodes,
  unlistedCodes,
} from "../../model/delivery.ts";
import { clockSlackMs } from "../query/clock-step.ts";
import type { Database } from "../query/dialect.ts";
import { fixedQuery, onlyOne } from "../query/fixed-query.ts";
import { idOf, newIdIn } from "../query/made-unit.ts";
import { cappedCount, maxPageSize, sliceOf } from "../query/page.ts";
import { json, optional, plain, rowShape, time } from "../query/row.ts";
import type { DeliveryTable, Schema } from "../query/schema.ts";
import { orFault, type Scope } from "../query/scope.ts";
import { countByStatus } from "./delivery-count.ts";
import { matching, newest, resolve } from "./delivery-list.ts";
import { eventField, overtakenDeliveries, scanDeliveries } from "./delivery-scan.ts";
import { insertTask, nameDelivery, noProject, queuedTask } from "./new-task.ts";
import { replacedBy, replacements } from "./replaced-delivery.ts";
import { taskShape } from "./task-shape.ts";

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
const summaryShape = rowShape<Omit<DeliverySummary, "replaced_by">, "deliveries">(summaryFields);
const shape = rowShape<Omit<Delivery, "replaced_by">, "deliveries">({
  ...summaryFields,
  headers: json(),
  normalized: optional(eventField),
  trace: json(),
  body: plain(),
});

function readWhole(row: object & { replaced_by: number | null }): Delivery {
  return { ...shape.read(row), replaced_by: row.replaced_by };
}

/** Stated as in the partial index, which serves only queries that say so. */
const hasHostId = sql<SqlBool>`host_delivery_id <> ''`;

const newColumns = shape.columns.filter((column) => column !== "id");

/** Null in `repeatable_host_id` finds nothing: a replay is no repeat, nor is a delivery without an id of the host. */
const insertDelivery = fixedQuery(
  [...newColumns, "repeatable_host_id"],
  (
    db,
    { repeatable_host_id, ...row }: Insertable<DeliveryTable> & { repeatable_host_id: string | null },
    { tellsNewIds },
  ) =>
    db
      .insertInto("deliveries")
      .values({
        ...row,
        repeat_of: db
          .selectFrom("deliveries")
          .select("id")
          .where("host_delivery_id", "=", repeatable_host_id)
          .where(hasHostId)
          .where("project_id", "=", row.project_id)
          .orderBy("created_at")
          .orderBy("id")
          .limit(onlyOne),
      })
      .$if(!tellsNewIds, (insert) => insert.returning("id")),
);

function rowOf(delivery: NewDelivery) {
  const isRepeatable = delivery.host_delivery_id !== "" && delivery.replay_of === null;
  return Object.assign(shape.insert(delivery), {
    repeatable_host_id: isRepeatable ? delivery.host_delivery_id : null,
  });
}

/** Values of remote_ip that mark a delivery as no live one. */
const notLive = ["test", "replay"];

/** Records after `until` were made before a clock was set back. */
interface Window {
  project_id: number;
  since: number;
  until: number;
}

function windowOf(project_id: number, { since, now }: DeliveryWindow): Window {
  return { project_id, since: since.getTime(), until: now.getTime() + clockSlackMs };
}

const acceptedWithin = (db: Database, { project_id, since, until }: Window) =>
  db
    .selectFrom("deliveries")
    .select(["id", "task_id", "created_at"])
    .where("project_id", "=", project_id)
    .where("status", "=", "accepted")
    .where("created_at", ">", since)
    .where("created_at", "<=", until)
    .where("remote_ip", "not in", notLive)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(onlyOne);

const lastAccepted = fixedQuery(["project_id", "since", "until"], acceptedWithin);
const lastAcceptedOfRef = fixedQuery(
  ["project_id", "since", "until", "raw_ref"],
  (db, { raw_ref, ...window }: Window & { raw_ref: string }) =>
    acceptedWithin(db, window).where(({ exists, selectFrom }) =>
      exists(
        selectFrom("tasks")
          .select("tasks.id")
          .whereRef("tasks.id", "=", "deliveries.task_id")
          .where(({ eb, fn }) => eb(fn.coalesce("tasks.cause_ref", "tasks.ref"), "=", raw_ref)),
      ),
    ),
);

/**
 * An unreadable body may be anybody's: half a request carries no proof. What was verified and is no JSON is counted by
 * each instance alone.
 */
const uncounted: readonly Delivery["code"][] = [...uncountedCodes, "invalid_payload"];

const liveSince = (db: Database, { project_id, since, until, limit }: Window & { limit: number }) =>
  db
    .selectFrom("deliveries")
    .select("created_at")
    .where("project_id", "=", project_id)
    .where("created_at", ">", since)
    .where("created_at", "<=", until)
    .where("remote_ip", "not in", notLive)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit);

const countedOf = {
  listed: fixedQuery(["project_id", "since", "until", "limit"], (db, window: Window & { limit: number }) =>
    liveSince(db, window).where("code", "not in", [...uncounted, ...unlistedCodes]),
  ),
  unlisted: fixedQuery(["project_id", "since", "until", "limit"], (db, window: Window & { limit: number }) =>
    liveSince(db, window).where("code", "in", unlistedCodes),
  ),
};

export function buildDeliveryKeeper(scope: Scope): DeliveryKeeper {
  const { db } = scope;
  const deleteAll = async (ids: SelectQueryBuilder<Schema, "deliveries", { id: number }>) => {
    const result = await db.deleteFrom("deliveries").where("id", "in", ids).executeTakeFirst();
    return Number(result.numDeletedRows);
  };

  return {
    async create(delivery) {
      return newIdIn(await scope.execute(insertDelivery.made(scope, rowOf(delivery))));
    },
    async createWithTask(delivery, task) {
      const made = queuedTask(task);
      const [taskId, id] = [idOf(0), idOf(1)];
      const unit = [
        insertTask.made(scope, taskShape.insert(made)),
        insertDelivery.made(scope, Object.assign(rowOf(delivery), { task_id: taskId })),
        nameDelivery.made(scope, { id: taskId, delivery_id: id }),
      ];
      const answers = await orFault(scope.dialect, scope.executeTogether(unit), noProject(task));
      const deliveryId = newIdIn(answers[1]);
      return { id: deliveryId, task: { ...made, id: newIdIn(answers[0]), deliveryId } };
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
    async list(filter, request) {
      const { page, pageSize, offset } = sliceOf(request);
      const resolved = await resolve(scope, filter);
      const rows = await newest(scope, resolved, offset + pageSize)
        .select(summaryShape.columns)
        .select(replacedBy)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(pageSize)
        .offset(offset)
        .execute();
      const total = await cappedCount(scope.lists, matching(scope, resolved));
      const items = rows.map((row) => ({ ...summaryShape.read(row), replaced_by: row.replaced_by }));
      return { items, total, page, pageSize };
    },
    async latest(filter, limit, place = null) {
      const count = Math.min(limit, maxPageSize);
      const resolved = await resolve(scope, filter);
      const rows = await newest(scope, place === null ? resolved : { ...resolved, place }, count)
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
    async lastAccepted(projectId, window, rawRef) {
      const values = windowOf(projectId, window);
      const [row] =
        rawRef === undefined
          ? await lastAccepted(scope, values)
          : await lastAcceptedOfRef(scope, { ...values, raw_ref: rawRef });
      return row === undefined ? null : { ...row, created_at: new Date(row.created_at) };
    },
    async countedSince(projectId, window, limit, bucket) {
      const rows = await countedOf[bucket](scope, { ...windowOf(projectId, window), limit });
      const oldest = rows.at(-1);
      return { count: rows.length, oldest: oldest === undefined ? null : new Date(oldest.created_at) };
    },
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
