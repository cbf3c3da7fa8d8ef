import { type Kysely, type Migration, sql } from "kysely";
import type { Dialect } from "../query/dialect.ts";

/** Tokens of users for the APIs of Git hosts, and the webhooks that were created with them. */
const statements = (id: string) => [
  `create table host_tokens (
    id ${id}, user_id bigint references users (id) on delete cascade not null, kind text not null,
    origin text not null, ciphertext text not null, hint text not null, created_at bigint not null,
    unique (user_id, origin))`,
  `create table host_hooks (
    project_id bigint primary key references projects (id) on delete cascade,
    token_id bigint references host_tokens (id) on delete set null, kind text not null, origin text not null,
    path text not null, hook_id text not null, key_id text, state text not null, note text not null,
    checked_at bigint not null, next_check_at bigint not null)`,
  "create index host_hooks_token on host_hooks (token_id)",
];

export function hostHooks(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements(dialect.idColumn)) await sql.raw(statement).execute(db);
    },
  };
}
