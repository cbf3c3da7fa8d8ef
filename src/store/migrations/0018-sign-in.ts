import { type Kysely, type Migration, sql } from "kysely";
import type { Dialect } from "../query/dialect.ts";

/** Accounts at providers that users sign in with, and the sessions that such a sign-in has opened. */
export function signIn({ idColumn }: Dialect): Migration {
  const statements = [
    `create table identities (
      id ${idColumn}, user_id bigint not null references users (id) on delete cascade, issuer text not null,
      subject text not null, provider text not null, host text not null, login text not null,
      created_at bigint not null, last_used_at bigint not null, unique (issuer, subject))`,
    "create index identities_user on identities (user_id)",
    `create table former_logins (
      user_id bigint not null references users (id) on delete cascade, host text not null, login text not null,
      primary key (user_id, host, login))`,
    // Without its identity a session could not be renewed, so it ends with it.
    "alter table sessions add column identity_id bigint references identities (id) on delete cascade",
    "alter table sessions add column refresh_at bigint",
    "alter table sessions add column provider_session text",
    "alter table sessions add column provider_grant text",
    "create index sessions_refresh_at on sessions (refresh_at)",
    "create index sessions_identity on sessions (identity_id)",
  ];
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(db);
    },
  };
}
