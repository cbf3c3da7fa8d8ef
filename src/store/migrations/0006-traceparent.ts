import { type Kysely, type Migration, sql } from "kysely";

/** The spans that tasks and outgoing calls belong to. */
export function traceparent(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`alter table tasks add column traceparent text`.execute(db);
      await sql`alter table outgoing_calls add column traceparent text`.execute(db);
    },
  };
}
