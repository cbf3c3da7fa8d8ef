import { type Kysely, type Migration, sql } from "kysely";

/** Releases that go from one runner to another, the digests of releases, and tasks that deploy a release or move a project. */
const statements = [
  `create table transfers (
    key text primary key, kind text not null, project_id bigint not null, task_id bigint not null, attempt bigint not null,
    from_runner_id bigint not null, to_runner_id bigint not null, root text not null, for_task_id bigint not null,
    for_attempt bigint not null, state text not null, parts bigint not null, bytes bigint not null,
    fault text not null, is_final smallint not null, created_at bigint not null, moved_at bigint not null)`,
  "create index transfers_wanted on transfers (from_runner_id) where state = 'wanted'",
  "create index transfers_task on transfers (for_task_id, for_attempt)",
  "alter table releases add column digest text",
  "alter table tasks add column deploys text",
  "alter table tasks add column move text",
  "alter table tasks add column target_runner_id bigint",
];

export function transfers(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(db);
    },
  };
}
