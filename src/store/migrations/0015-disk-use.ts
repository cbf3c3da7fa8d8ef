import { type Kysely, type Migration, sql } from "kysely";

/** The limit of a project's releases and data, and what they take. */
export function diskUse(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`alter table projects add column disk_mb integer`.execute(db);
      await sql`alter table projects add column disk text`.execute(db);
    },
  };
}
