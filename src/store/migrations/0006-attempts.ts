import { type Kysely, type Migration, sql } from "kysely";

/**
 * Failed sign-ins, for limits across all instances. The key is a hash, because people type passwords into the name
 * field.
 */
export const attempts: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw("create table attempts (key text primary key, count integer not null, ends_at bigint not null)")
      .execute(db);
  },
};
