import { type Insertable, type SqlBool, sql } from "kysely";
import type { NewDelivery } from "../../model/delivery.ts";
import type { Database } from "../query/dialect.ts";
import { fixedQuery, onlyOne } from "../query/fixed-query.ts";
import type { DeliveryTable, TaskTable } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { deliveryShape } from "./delivery-shape.ts";
import { insertTask, nameDelivery, newTaskColumns } from "./new-task.ts";

/** Stated as in the partial index, which serves only queries that say so. */
const hasHostId = sql<SqlBool>`host_delivery_id <> ''`;

const newColumns = deliveryShape.columns.filter((column) => column !== "id");

type NewRow = Insertable<DeliveryTable> & { repeatable_host_id: string | null };
const rowNames = [...newColumns, "repeatable_host_id"] as const;

/** Null in `repeatable_host_id` finds nothing: a replay is no repeat, nor is a delivery without an id of the host. */
function insertable(db: Database, { repeatable_host_id, ...row }: NewRow) {
  const repeat_of = db
    .selectFrom("deliveries")
    .select("id")
    .where("host_delivery_id", "=", repeatable_host_id)
    .where(hasHostId)
    .where("project_id", "=", row.project_id)
    .orderBy("created_at")
    .orderBy("id")
    .limit(onlyOne);
  return { ...row, repeat_of };
}

export const insertDelivery = fixedQuery(rowNames, (db, row: NewRow, { tellsNewIds }) =>
  db
    .insertInto("deliveries")
    .values(insertable(db, row))
    .$if(!tellsNewIds, (insert) => insert.returning("id")),
);

export function newRowOf(delivery: NewDelivery) {
  const isRepeatable = delivery.host_delivery_id !== "" && delivery.replay_of === null;
  return Object.assign(deliveryShape.insert(delivery), {
    repeatable_host_id: isRepeatable ? delivery.host_delivery_id : null,
  });
}

type NewTaskRow = Insertable<TaskTable>;

/** A delivery and the task that it makes: each row names the other. */
export async function insertWithTask(
  scope: Scope,
  delivery: NewRow,
  task: NewTaskRow,
): Promise<{ id: number; taskId: number }> {
  if (!scope.dialect.tellsNewIds) {
    const [ids] = await insertBoth(scope, { ...delivery, ...prefixed(task) });
    return { id: ids?.delivery_id ?? 0, taskId: ids?.task_id ?? 0 };
  }
  const taskId = await insertTask.newId(scope, task);
  const id = await insertDelivery.newId(scope, Object.assign(delivery, { task_id: taskId }));
  await nameDelivery(scope, { id: taskId, delivery_id: id });
  return { id, taskId };
}

/** Both tables have columns of the same names. */
type Prefixed<T> = { [Name in keyof T & string as `new_task_${Name}`]: T[Name] };

function prefixed(task: NewTaskRow): Prefixed<NewTaskRow> {
  const entries = Object.entries(task).map(([name, value]) => [`new_task_${name}`, value]);
  return Object.fromEntries(entries) as Prefixed<NewTaskRow>;
}

const taskNames = newTaskColumns.map((name) => `new_task_${name}` as const);

/** One statement of PostgreSQL, which hands out the ids of both rows before it makes them. */
const insertBoth = fixedQuery<NewRow & Prefixed<NewTaskRow>, { task_id: number; delivery_id: number }>(
  [...rowNames, ...taskNames],
  (db, values) => {
    const row = values as unknown as Record<string, unknown>;
    const taskRow = Object.fromEntries(newTaskColumns.map((name) => [name, row[`new_task_${name}`]]));
    const deliveryRow = Object.fromEntries(rowNames.map((name) => [name, row[name]])) as unknown as NewRow;
    const [taskId, deliveryId] = [
      sql<number>`(select task_id from ids)`,
      sql<number>`(select delivery_id from ids)`,
    ];
    const nextId = (table: string) => sql<number>`nextval(pg_get_serial_sequence(${sql.lit(table)}, 'id'))`;
    return db
      .with("ids", (with_) =>
        with_.selectNoFrom([nextId("tasks").as("task_id"), nextId("deliveries").as("delivery_id")]),
      )
      .with("task", (with_) =>
        with_
          .insertInto("tasks")
          .values({ ...(taskRow as unknown as NewTaskRow), id: taskId, delivery_id: deliveryId }),
      )
      .with("delivery", (with_) =>
        with_
          .insertInto("deliveries")
          .values({ ...insertable(db, deliveryRow), id: deliveryId, task_id: taskId }),
      )
      .selectFrom("ids")
      .select(["task_id", "delivery_id"]);
  },
);
