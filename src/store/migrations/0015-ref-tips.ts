import { type Kysely, type Migration, sql } from "kysely";

/** The tip of each ref that was handled last, and the polls that compare them with the Git host. */
const statements = [
  `create table ref_tips (
    project_id bigint not null references projects (id) on delete cascade, ref text not null,
    "commit" text not null, pushed_at bigint not null, polled_task_id bigint, primary key (project_id, ref))`,
  `create table polls (
    project_id bigint primary key references projects (id) on delete cascade, url text not null,
    version text not null, scope text not null, held_by text, held_until bigint, last_at bigint,
    next_at bigint not null, error text not null, note text not null)`,
];

export const refTips: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
