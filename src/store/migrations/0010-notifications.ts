import { type Kysely, type Migration, sql } from "kysely";
import type { Dialect } from "../query/dialect.ts";

/**
 * Existing projects keep the context `slipway` of their commit statuses. The addresses of notification targets are encrypted at
 * the next start, which has the key; calls then name their target instead of its address.
 */
const statements = (id: string) => [
  `alter table projects add column commit_status text not null default '{"context":"slipway","skipped":false}'`,
  "alter table outgoing_calls add column target_id text",
  "alter table outgoing_calls add column event text not null default ''",
  "alter table runners add column gone_since bigint",
  `create table outgoing_attempts (
    id ${id}, project_id bigint references projects (id) on delete cascade not null, at bigint not null,
    kind text not null, event text not null, target_id text, host text not null, attempt integer not null,
    is_delivered smallint not null, status integer, fault text not null, response text not null)`,
  "create index outgoing_attempts_project on outgoing_attempts (project_id, id)",
];

export function notifications(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements(dialect.idColumn)) await sql.raw(statement).execute(db);
    },
  };
}
