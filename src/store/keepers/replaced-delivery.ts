import { sql } from "kysely";
import type { DeliveryKeeper } from "../../model/delivery.ts";
import type { Environment } from "../../model/environment/environment.ts";
import type { Scope } from "../query/scope.ts";

/** For queries of deliveries: the delivery that took over each delivery's task, and the environment of its task. */
export const followed = [
  sql<number | null>`(select replaced_deliveries.replaced_by
    from replaced_deliveries where replaced_deliveries.delivery_id = deliveries.id)`.as("replaced_by"),
  sql<string | null>`(select projects.environment from tasks join projects on projects.id = tasks.project_id
    where tasks.id = coalesce(deliveries.merged_into_task_id, deliveries.task_id))`.as("environment"),
] as const;

/** What such a query has found. */
export function readFollowed(row: { replaced_by: number | null; environment: string | null }) {
  const environment = row.environment && (JSON.parse(row.environment) as Environment).name;
  return { replaced_by: row.replaced_by, environment: environment ?? "" };
}

export function replacements({ db }: Scope): Pick<DeliveryKeeper, "builtBy" | "replace"> {
  return {
    async builtBy(task) {
      const last = await db
        .selectFrom("replaced_deliveries")
        .select("replaced_by")
        .where("task_id", "=", task.id)
        .orderBy("replaced_by", "desc")
        .limit(1)
        .executeTakeFirst();
      return last?.replaced_by ?? task.deliveryId;
    },
    async replace(deliveryId, by, taskId) {
      // The replaced delivery may already be deleted: a debounce window can be longer than the retention time.
      await db
        .insertInto("replaced_deliveries")
        .columns(["delivery_id", "task_id", "replaced_by"])
        .expression((eb) =>
          eb
            .selectFrom("deliveries")
            .select([
              "deliveries.id",
              sql<number>`cast(${taskId} as bigint)`.as("task_id"),
              sql<number>`cast(${by} as bigint)`.as("replaced_by"),
            ])
            .where("deliveries.id", "=", deliveryId),
        )
        .onConflict((conflict) => conflict.column("delivery_id").doNothing())
        .execute();
    },
  };
}
