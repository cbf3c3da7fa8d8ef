import { type Kysely, type Migration, sql } from "kysely";

/** A project may serve in several environments, each of which is a project of its own below it. */
const statements = [
  "alter table projects add column environments text not null default '[]'",
  "alter table projects add column parent_id bigint references projects (id) on delete cascade",
  "alter table projects add column environment text",
  "create index projects_parent on projects (parent_id)",
  "alter table releases add column promoted_from bigint",
];

export function environments(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(db);
    },
  };
}
