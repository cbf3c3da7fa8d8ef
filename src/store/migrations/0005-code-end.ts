import { type Kysely, type Migration, sql } from "kysely";

/** A live view ends with the session or token that it was opened with, so its code says when that is. */
export const codeEnd: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table push_codes add column ends_at bigint").execute(db);
  },
};
