import { type Kysely, type Migration, sql } from "kysely";

/** What was another user for scripts is a sandbox now, in which they run as another user too. */
export function sandboxIsolation(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const table of ["projects", "runners"])
        await sql`update ${sql.table(table)} set isolation = 'sandbox' where isolation = 'user'`.execute(db);
    },
  };
}
