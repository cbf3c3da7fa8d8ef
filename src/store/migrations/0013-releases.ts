import { type Kysely, type Migration, sql } from "kysely";

/**
 * Releases with the scripts and the environment that they were made with, and the first output of services. Existing
 * projects are not rolled back by themselves, belong to no runner and need nothing of one, as before.
 */
const statements = [
  `create table releases (
    task_id bigint primary key references tasks (id) on delete cascade,
    project_id bigint not null references projects (id) on delete cascade,
    attempt integer not null, runner_id bigint not null, state text not null, ref text not null, "commit" text not null,
    message text not null, author text not null, stages text not null, env text not null, bytes bigint,
    deployed_at bigint not null)`,
  "create index releases_project on releases (project_id, deployed_at)",
  `create table service_outputs (
    task_id bigint primary key references tasks (id) on delete cascade,
    has_exited smallint not null, output text not null)`,
  "alter table tasks add column rollback_to bigint",
  "alter table tasks add column rollback text",
  "alter table projects add column rollback text not null default 'off'",
  "alter table projects add column home_runner_id bigint",
  "alter table projects add column live_note text not null default ''",
  "alter table projects add column needs text not null default '[]'",
  "alter table runners add column features text not null default '[]'",
];

export const releases: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
