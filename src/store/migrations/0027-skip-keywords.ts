import { type Kysely, type Migration, sql } from "kysely";

/** Further keywords in a commit message that skip its push. */
export const skipKeywords: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw("alter table webhook_configs add column more_skip_keywords text not null default '[]'")
      .execute(db);
  },
};
