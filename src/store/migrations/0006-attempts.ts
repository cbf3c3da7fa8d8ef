import { type Kysely, type Migration, sql } from "kysely";

/** Failed sign-ins, for limits that hold over all instances. The key is a hash: people type passwords as their name. */
export const attempts: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw("create table attempts (key text primary key, count integer not null, ends_at bigint not null)")
      .execute(db);
  },
};
