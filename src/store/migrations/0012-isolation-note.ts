import { type Kysely, type Migration, sql } from "kysely";

/** Why the scripts of a runner are not isolated, as it reports it. */
export function isolationNote(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`alter table runners add column isolation_note text not null default ''`.execute(db);
    },
  };
}
