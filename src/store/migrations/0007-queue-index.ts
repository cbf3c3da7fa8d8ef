import { type Kysely, type Migration, sql } from "kysely";

/**
 * The place of a task is counted over all that wait before it: with the time that each waits for in the index, they are
 * counted without reading a row of each.
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
