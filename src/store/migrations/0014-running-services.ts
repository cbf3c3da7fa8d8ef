import { type Kysely, type Migration, sql } from "kysely";

/**
 * What is known of services that run, and the lane of actions with them: the indexes of the queue and of held tasks are about
 * other tasks only, so that an action is in no queue and holds no project.
 */
const statements = [
  `create table services (
    project_id bigint not null references projects (id) on delete cascade, name text not null,
    runner_id bigint not null, task_id bigint not null, state text not null, since bigint not null,
    started_at bigint not null, restarts bigint not null, exits text not null, last_exit text,
    fault text not null, last_lines text not null, port integer, memory_bytes bigint, cpu double precision,
    reported_at bigint not null, sampled_at bigint not null, is_away smallint not null, down_since bigint,
    recovering_since bigint, primary key (project_id, name))`,
  "create index services_runner on services (runner_id, project_id)",
  `create table service_samples (
    project_id bigint not null references projects (id) on delete cascade, name text not null, at bigint not null,
    memory_bytes bigint, cpu double precision, primary key (project_id, name, at))`,
  "create index service_samples_at on service_samples (at)",
  // Parts of output that people wait for: runner and reader may be connected to different instances.
  `create table output_reads (
    key text primary key, runner_id bigint not null, wanted text not null, is_taken smallint not null, answer text,
    created_at bigint not null)`,
  "create index output_reads_runner on output_reads (runner_id) where is_taken = 0",

  "alter table releases add column rolled_back_at bigint",
  "alter table tasks add column deploying_since bigint",
  "alter table tasks add column service_action text",
  "drop index tasks_queued",
  `create index tasks_queued on tasks (project_id, priority desc, id, not_before)
    where state = 'queued' and service_action is null`,
  "create index tasks_actions on tasks (runner_id, id) where state = 'queued' and service_action is not null",
  "drop index tasks_held",
  "create index tasks_held on tasks (project_id) where state in ('dispatched', 'running', 'canceling')",
  // At most one task of a project that builds or deploys is with a runner: two claims that race cannot both win.
  `create unique index tasks_deploying on tasks (project_id)
    where state in ('dispatched', 'running', 'canceling') and service_action is null`,
];

export function runningServices(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(db);
    },
  };
}
