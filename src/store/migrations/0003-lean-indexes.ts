import { type Kysely, type Migration, sql } from "kysely";

/**
 * Every index costs a page write per delivery, and most deliveries are accepted. Accepted ones are found by time and
 * project only, the others also by outcome. Unfinished tasks are the queued and the held ones, which have their own
 * indexes.
 */
const statements = [
  "drop index deliveries_status",
  "drop index deliveries_code",
  "drop index deliveries_project_status",
  "drop index tasks_unfinished",
  "create index deliveries_status on deliveries (status, created_at, id) where status <> 'accepted'",
  "create index deliveries_code on deliveries (code, created_at, id) where code <> 'accepted'",
  `create index deliveries_project_status on deliveries (project_id, status, created_at, id)
    where status <> 'accepted'`,
];

export const leanIndexes: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
