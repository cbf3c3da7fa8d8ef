import { type Kysely, type Migration, sql } from "kysely";

/** The language of the console that a user chose; null: the language of the browser. */
export const userLanguage: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table users add column language text").execute(db);
  },
};
