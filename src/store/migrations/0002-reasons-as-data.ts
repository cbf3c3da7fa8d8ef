import { type Kysely, type Migration, sql } from "kysely";
import type { Dialect } from "../query/dialect.ts";

const columns = [
  ["deliveries", "reason"],
  ["tasks", "reason"],
  ["projects", "live_note"],
  ["polls", "error"],
  ["polls", "note"],
  ["outgoing_attempts", "fault"],
  ["host_hooks", "note"],
] as const;

/**
 * Reasons are JSON: code and values. A sentence that was stored as text becomes a JSON text, which is shown as it was
 * written. Inside other JSON, such as the trace of a delivery, such sentences are JSON texts already.
 */
export function reasonsAsData({ name }: Dialect): Migration {
  const quoted = (column: string) =>
    name === "postgres" ? sql`to_json(${sql.ref(column)})::text` : sql`json_quote(${sql.ref(column)})`;
  return {
    async up(db: Kysely<unknown>) {
      for (const [table, column] of columns)
        await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${quoted(column)} where ${sql.ref(column)} <> ''`.execute(
          db,
        );
    },
  };
}
