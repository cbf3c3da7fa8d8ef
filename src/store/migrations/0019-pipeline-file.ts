import { type Kysely, type Migration, sql } from "kysely";

/** A project may read its pipeline from a file of its repository, and a task has what it has read there. */
const statements = [
  "alter table projects add column pipeline_file text",
  "alter table projects add column file_read text",
  "alter table tasks add column pipeline text",
];

export function pipelineFile(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(db);
    },
  };
}
