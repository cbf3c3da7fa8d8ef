import { type Insertable, sql } from "kysely";
import type { NewDelivery } from "../../model/delivery.ts";
import type { HandledTip } from "../../model/ref-tip.ts";
import type { NewTask, Task } from "../../model/task.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import type { DeliveryTable } from "../query/schema.ts";
import type { Scope } from "../query/scope.ts";
import { deliveryShape } from "./delivery-shape.ts";
import { createTask } from "./new-task.ts";
import { storeTip } from "./ref-tip.ts";

type NewRow = Insertable<DeliveryTable> & { repeatable_host_id: string | null };
const columns = deliveryShape.columns.filter((column) => column !== "id");

const insertRow = fixedQuery<NewRow, { id: number }>(
  [...columns, "repeatable_host_id"],
  (db, { repeatable_host_id, ...row }) =>
    db
      .insertInto("deliveries")
      .values({
        ...row,
        // The partial index requires that the query states its condition.
        repeat_of: sql`(select id from deliveries
          where host_delivery_id = ${repeatable_host_id} and host_delivery_id <> '' and project_id = ${row.project_id}
          order by created_at, id limit 1)`,
      })
      .returning("id"),
);

const linkTask = fixedQuery<{ id: number; delivery_id: number }, never>(
  ["id", "delivery_id"],
  (_, { id, delivery_id }) => sql`update tasks set delivery_id = ${delivery_id} where id = ${id}`,
);

/** Stores a delivery, and the tip that it handles. */
export async function insertDelivery(
  scope: Scope,
  delivery: NewDelivery,
  tip: HandledTip | null,
): Promise<number> {
  const { host_delivery_id, replay_of, task_id, merged_into_task_id } = delivery;
  // Null matches nothing: a replay is not a repeat, nor is a delivery without the host's id.
  const repeatable_host_id = host_delivery_id !== "" && replay_of === null ? host_delivery_id : null;
  // Before the delivery is inserted, because it would otherwise count as already sent.
  if (tip !== null) await storeTip(scope, tip, delivery, repeatable_host_id, merged_into_task_id ?? task_id);
  const [row] = await insertRow(scope, { ...deliveryShape.insert(delivery), repeatable_host_id });
  if (row === undefined) throw new Error("The database answered no id for a new delivery.");
  return row.id;
}

/** A delivery and its task: each row contains the other's id. */
export async function insertWithTask(
  scope: Scope,
  delivery: NewDelivery,
  order: NewTask,
  tip: HandledTip | null,
): Promise<{ id: number; task: Task }> {
  const task = await createTask(scope, order);
  const id = await insertDelivery(scope, { ...delivery, task_id: task.id }, tip);
  await linkTask(scope, { id: task.id, delivery_id: id });
  return { id, task: { ...task, deliveryId: id } };
}
