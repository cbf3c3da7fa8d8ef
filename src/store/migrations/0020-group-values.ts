import { type Kysely, type Migration, sql } from "kysely";

/** Variables and secrets of a group, for all of its projects, and which entries of the audit log are about a group. */
const statements = [
  "alter table groups add column env text not null default '{}'",
  `create table group_secrets (
    group_id bigint not null references groups (id) on delete cascade, name text not null, ciphertext text not null,
    scope text, form text not null default 'variable', primary key (group_id, name))`,
  "alter table audit add column group_id bigint",
  "create index audit_group on audit (group_id, at, id)",
];

export function groupValues(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(db);
    },
  };
}
