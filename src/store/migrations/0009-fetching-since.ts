import { type Kysely, type Migration, sql } from "kysely";

/** Since when the runner of a task fetches its commit. */
export function fetchingSince(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`alter table tasks add column fetching_since bigint`.execute(db);
    },
  };
}
