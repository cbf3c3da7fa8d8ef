import { type Kysely, type Migration, sql } from "kysely";

/**
 * Earlier versions kept the tips of a project whose webhook was disabled, or whose repository was never polled. They would
 * count as handled pushes now, and the first poll would build what was pushed since.
 */
export const forgottenTips: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw("delete from ref_tips where project_id not in (select project_id from polls where url <> '')")
      .execute(db);
  },
};
