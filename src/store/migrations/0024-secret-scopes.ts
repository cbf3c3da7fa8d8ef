import { type Kysely, type Migration, sql } from "kysely";

/** Which stages get a secret. Null: nobody has chosen yet; all of them do. */
export const secretScopes: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("alter table project_secrets add column scope text").execute(db);
  },
};
