import { type Kysely, type Migration, sql } from "kysely";

/**
 * For lists of tasks by author, ref, trigger and time, and for the search by commit. Only finished tasks are in these
 * indexes, so that a new task costs no more than before; unfinished ones have their own.
 */
const statements = [
  // Earlier versions stored authors of any length, and PostgreSQL refuses a very long one in an index.
  "update tasks set author = substr(author, 1, 255) where length(author) > 255",
  'create index tasks_commit on tasks ("commit", id) where finished_at is not null',
  "create index tasks_author on tasks (author, id) where finished_at is not null",
  "create index tasks_ref on tasks (ref, id) where finished_at is not null",
  "create index tasks_trigger on tasks (trigger_type, id) where finished_at is not null",
  "create index tasks_time on tasks (created_at, id) where finished_at is not null",
];

export const taskFilters: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
