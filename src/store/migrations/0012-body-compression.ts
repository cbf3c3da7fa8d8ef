import { type Kysely, type Migration, sql } from "kysely";
import type { Dialect } from "../query/dialect.ts";

/**
 * PostgreSQL's default compression takes longer than storing the rest of the delivery; lz4 is many times faster. A
 * server built without lz4, or before version 14, keeps its default.
 */
const useLz4 = `do $$ begin
  alter table deliveries alter column body set compression lz4, alter column trace set compression lz4,
    alter column normalized set compression lz4, alter column headers set compression lz4;
  alter table task_logs alter column lines set compression lz4;
exception when others then null; end $$`;

export function bodyCompression({ name }: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>) {
      if (name === "postgres") await sql.raw(useLz4).execute(db);
    },
  };
}
