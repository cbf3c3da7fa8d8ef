import { type Kysely, type Migration, sql } from "kysely";

/**
 * Which delivery took over the task of another. A separate table, because a column after the body would make SQLite read the
 * whole body of each delivery in a list. The index finds the last delivery that took over a task.
 */
const statements = [
  `create table replaced_deliveries (
    delivery_id bigint primary key references deliveries (id) on delete cascade,
    task_id bigint not null, replaced_by bigint not null)`,
  "create index replaced_deliveries_task on replaced_deliveries (task_id, replaced_by)",
];

export const replacedDeliveries: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
