import { type Kysely, type Migration, sql } from "kysely";

/**
 * A task's place is the number of tasks before it in the queue: with `not_before` in the index, they are counted
 * without reading their rows.
 */
const statements = [
  "drop index tasks_queued",
  `create index tasks_queued on tasks (project_id, priority desc, id, not_before) where state = 'queued'`,
];

export const queueIndex: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
