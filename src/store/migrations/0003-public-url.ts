import { type Kysely, type Migration, sql } from "kysely";

/** Where users reach what a project serves; empty: not known. */
export function publicUrl(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`alter table projects add column public_url text not null default ''`.execute(db);
    },
  };
}
