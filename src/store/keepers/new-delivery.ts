import { type Insertable, type SqlBool, sql } from "kysely";
import type { NewDelivery } from "../../model/delivery.ts";
import type { HandledTip } from "../../model/ref-tip.ts";
import type { Database } from "../query/dialect.ts";
import { fixedQuery, onlyOne } from "../query/fixed-query.ts";
import type { DeliveryTable, TaskTable } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { deliveryShape } from "./delivery-shape.ts";
import { newTaskColumns } from "./new-task.ts";
import { type TipRow, tipNames, tipRowOf, upsertTip } from "./ref-tip.ts";

/** The partial index requires this condition, and a database uses the index only if the query states it. */
const hasHostId = sql<SqlBool>`host_delivery_id <> ''`;

const newColumns = deliveryShape.columns.filter((column) => column !== "id");

type NewRow = Insertable<DeliveryTable> & { repeatable_host_id: string | null };
const rowNames = [...newColumns, "repeatable_host_id"] as const;

const tipValueNames = [...tipNames, "project_id", "repeatable_host_id", "ref"] as const;
type TipValues = TipRow & Pick<NewRow, "project_id" | "repeatable_host_id" | "ref"> & { task_id: number };

/** The parameters of one part of a statement. */
function picked<Row>(names: readonly (keyof Row & string)[], values: object): Row {
  const given = values as Record<string, unknown>;
  return Object.fromEntries(names.map((name) => [name, given[name]])) as Row;
}

/** Null in `repeatable_host_id` matches nothing: a replay is not a repeat, nor is a delivery without the host's id. */
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

const insertDelivery = fixedQuery(rowNames, (db, row: NewRow) =>
  db.insertInto("deliveries").values(insertable(db, row)),
);

/** One PostgreSQL statement for the delivery and its tip, if it has one. */
const insertWithTip = fixedQuery<NewRow & TipRow, { id: number }>([...rowNames, ...tipNames], (db, row) =>
  db
    .with("tip", () => sql`(${upsertTip(row, row.merged_into_task_id)})`)
    .insertInto("deliveries")
    .values(insertable(db, picked(rowNames, row)))
    .returning("id"),
);

const storeTip = fixedQuery<TipValues, never>([...tipValueNames, "task_id"], (_, row) =>
  upsertTip(row, row.task_id),
);

/** Stores a delivery, and the tip that it handles. */
export async function insertRecord(scope: Scope, row: NewRow, tip: HandledTip | null): Promise<number> {
  if (!scope.dialect.tellsNewIds) return insertWithTip.newId(scope, { ...row, ...tipRowOf(tip) });
  // Before the delivery is inserted, because it would otherwise count as already sent.
  if (tip !== null) await storeTip(scope, tipValuesOf(row, tip, row.merged_into_task_id ?? 0));
  return insertDelivery.newId(scope, row);
}

function tipValuesOf({ project_id, repeatable_host_id, ref }: NewRow, tip: HandledTip, task_id: number) {
  return { ...tipRowOf(tip), project_id, repeatable_host_id, ref, task_id };
}

export function newRowOf(delivery: NewDelivery) {
  const isRepeatable = delivery.host_delivery_id !== "" && delivery.replay_of === null;
  return Object.assign(deliveryShape.insert(delivery), {
    repeatable_host_id: isRepeatable ? delivery.host_delivery_id : null,
  });
}

type NewTaskRow = Insertable<TaskTable>;

/** SQLite numbers the delivery that follows in the same transaction with the next number, and has one writer. */
const nextDeliveryId = sql<number>`(select coalesce(max(seq), 0) + 1 from sqlite_sequence where name = 'deliveries')`;

const insertTaskOfNext = fixedQuery(newTaskColumns, (db, row: NewTaskRow) =>
  db.insertInto("tasks").values({ ...row, delivery_id: nextDeliveryId }),
);

/** A delivery and its task: each row contains the other's id. */
export async function insertWithTask(
  scope: Scope,
  delivery: NewRow,
  task: NewTaskRow,
  tip: HandledTip | null,
): Promise<{ id: number; taskId: number }> {
  if (!scope.dialect.tellsNewIds) {
    const [ids] = await insertBoth(scope, { ...delivery, ...prefixed(task), ...tipRowOf(tip) });
    return { id: ids?.delivery_id ?? 0, taskId: ids?.task_id ?? 0 };
  }
  const taskId = await insertTaskOfNext.newId(scope, task);
  if (tip !== null) await storeTip(scope, tipValuesOf(delivery, tip, taskId));
  const id = await insertDelivery.newId(scope, Object.assign(delivery, { task_id: taskId }));
  return { id, taskId };
}

/** Both tables have columns of the same names. */
type Prefixed<T> = { [Name in keyof T & string as `new_task_${Name}`]: T[Name] };

const taskColumns = newTaskColumns.map((column) => ({ column, name: `new_task_${column}` as const }));
const taskNames = taskColumns.map(({ name }) => name);

function prefixed(task: NewTaskRow): Prefixed<NewTaskRow> {
  const row: Partial<Record<string, unknown>> = {};
  for (const { column, name } of taskColumns) row[name] = task[column];
  return row as Prefixed<NewTaskRow>;
}

type Both = NewRow & Prefixed<NewTaskRow> & TipRow;
const bothNames = [...rowNames, ...taskNames, ...tipNames];

/** One PostgreSQL statement, which allocates both ids before it inserts the rows. */
const insertBoth = fixedQuery<Both, { task_id: number; delivery_id: number }>(bothNames, (db, values) => {
  const row = values as unknown as Record<string, unknown>;
  const taskRow = Object.fromEntries(taskColumns.map(({ column, name }) => [column, row[name]]));
  const [taskId, deliveryId] = [
    sql<number>`(select task_id from ids)`,
    sql<number>`(select delivery_id from ids)`,
  ];
  // PostgreSQL names the sequence of an identity column after table and column. To look the name up at each use takes a
  // tenth of the statement.
  const nextId = (table: string) => sql<number>`nextval(${sql.lit(`${table}_id_seq`)})`;
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
        .values({ ...insertable(db, picked<NewRow>(rowNames, values)), id: deliveryId, task_id: taskId }),
    )
    .with("tip", () => sql`(${upsertTip(values, taskId)})`)
    .selectFrom("ids")
    .select(["task_id", "delivery_id"]);
});
