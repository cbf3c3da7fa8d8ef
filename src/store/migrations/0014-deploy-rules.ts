import { type Kysely, type Migration, sql } from "kysely";

/** What a merge request runs, the check of the repository, and the delivery that asked for a task. */
const statements = [
  "alter table webhook_configs add column merge_request_actions text",
  "alter table webhook_configs add column repository_check text not null default 'warn'",
  "alter table tasks add column source text",
];

export const deployRules: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
