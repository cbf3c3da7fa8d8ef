import { type Kysely, type Migration, sql } from "kysely";

/**
 * The first delivery of a debounce window is searched among all deliveries merged into it: with the status in the
 * index, they are skipped without reading their rows.
 */
const statements = [
  "drop index deliveries_project",
  "create index deliveries_project on deliveries (project_id, created_at, id, status)",
];

export const windowIndex: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
