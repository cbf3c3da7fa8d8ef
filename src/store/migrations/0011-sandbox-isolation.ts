import { type Kysely, type Migration, sql } from "kysely";

/** What was another user for scripts is a sandbox now, in which they run as another user too. */
export function sandboxIsolation(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const [table, column] of [
        ["projects", "isolation"],
        ["runners", "reported_isolation"],
        ["runners", "trusted_isolation"],
      ] as const)
        await sql`update ${sql.table(table)} set ${sql.ref(column)} = 'sandbox'
          where ${sql.ref(column)} = 'user'`.execute(db);
    },
  };
}
