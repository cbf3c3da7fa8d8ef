import { type Kysely, type Migration, sql } from "kysely";

/** Whose token for a Git host it is, and what it may do. */
const statements = [
  "alter table host_tokens add column login text not null default ''",
  "alter table host_tokens add column scopes text",
  "alter table host_tokens add column expires_at bigint",
];

export const hostTokenOwner: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
