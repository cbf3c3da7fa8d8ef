import { type Kysely, type Migration, sql } from "kysely";

/** Whether the default notification target receives the messages of a project. */
export function defaultNotify(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`alter table projects add column default_notify smallint not null default 1`.execute(db);
    },
  };
}
