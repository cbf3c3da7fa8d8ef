import { type Kysely, type Migration, sql } from "kysely";
import type { Dialect } from "../query/dialect.ts";

/** Notifications and commit statuses that wait to be taken. They go with their project. */
const statements = (id: string) => [
  `create table outgoing_calls (
    id ${id}, project_id bigint references projects (id) on delete cascade not null, kind text not null,
    subject text, url text not null, message_id text not null, proof text not null, body text not null,
    attempts integer not null, next_try_at bigint not null, created_at bigint not null)`,
  "create index outgoing_calls_due on outgoing_calls (next_try_at)",
  "create index outgoing_calls_subject on outgoing_calls (subject) where subject is not null",
  "create index outgoing_calls_project on outgoing_calls (project_id)",
];

export function outgoingCalls(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements(dialect.idColumn)) await sql.raw(statement).execute(db);
    },
  };
}
