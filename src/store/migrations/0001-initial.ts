import { type Kysely, type Migration, sql } from "kysely";
import type { Dialect } from "../query/dialect.ts";

const references = (table: string, onDelete: "cascade" | "set null") =>
  `bigint references ${table} (id) on delete ${onDelete}`;

/** Plain SQL that both databases read alike; only the type of a numbered id differs. */
const tables = (id: string) => [
  "create table meta (name text primary key, value text not null)",
  `create table users (
    id ${id}, username text not null, password_hash text not null, role text not null,
    disabled smallint not null, created_at bigint not null)`,
  `create table sessions (
    id ${id}, user_id ${references("users", "cascade")} not null, token_hash text not null unique,
    user_agent text not null, remote_ip text not null, created_at bigint not null,
    last_seen_at bigint not null, expires_at bigint not null)`,
  `create table api_tokens (
    id ${id}, user_id ${references("users", "cascade")} not null, name text not null,
    token_hash text not null unique, hint text not null, scopes text not null,
    created_at bigint not null, last_used_at bigint, expires_at bigint)`,
  `create table groups (id ${id}, name text not null unique, created_at bigint not null)`,
  `create table group_members (
    group_id ${references("groups", "cascade")} not null, user_id ${references("users", "cascade")} not null,
    permission text not null, primary key (group_id, user_id))`,
  `create table projects (
    id ${id}, name text not null unique, group_id ${references("groups", "set null")}, git text not null,
    stages text not null, env text not null, notify text not null, labels text not null,
    supersede text not null, live_task_id bigint, sample smallint not null, created_at bigint not null)`,
  `create table project_secrets (
    project_id ${references("projects", "cascade")} not null, name text not null, ciphertext text not null,
    primary key (project_id, name))`,
  `create table project_members (
    project_id ${references("projects", "cascade")} not null, user_id ${references("users", "cascade")} not null,
    permission text not null, primary key (project_id, user_id))`,
  `create table webhook_configs (
    project_id bigint primary key references projects (id) on delete cascade, key text unique,
    enabled smallint not null, provider text not null, secret text, secret_header text not null,
    secret_query text not null, verify_mode text not null, signature_prefix text not null,
    signature_encoding text not null, events text not null, branch_filter text not null,
    tag_filter text not null, path_filter text not null, ref_source text not null, actions text,
    queue_policy text not null, debounce_seconds integer, skip_ci_keyword text not null,
    debounce_scope text not null, allow_forks smallint not null, second_secret text,
    second_secret_until bigint, updated_at bigint not null)`,
  `create table former_keys (
    key_hash text primary key, project_id ${references("projects", "cascade")} not null,
    replaced_at bigint not null)`,
  `create table deliveries (
    id ${id}, project_id bigint not null, project_name text not null, provider text not null,
    event text not null, ref text not null, ref_type text not null, "commit" text not null,
    commit_message text not null, author text not null, status text not null, reason text not null,
    task_id bigint not null, remote_ip text not null, created_at bigint not null, code text not null,
    http_status integer not null, count bigint not null, host_delivery_id text not null, repeat_of bigint,
    replay_of bigint, merged_into_task_id bigint, former_project_id bigint, headers text not null,
    normalized text, trace text not null, body text not null)`,
  `create table tasks (
    id ${id}, project_id ${references("projects", "cascade")} not null, state text not null,
    trigger_type text not null, triggered_by text not null, ref text not null, "commit" text,
    message text not null, author text not null, actions text, stages text not null, cause_ref text,
    cause_commit text, delivery_id bigint, rerun_of bigint, superseded_by bigint, reason text not null,
    priority integer not null, not_before bigint, attempt integer not null, lease_hash text,
    lease_until bigint, runner_id bigint, created_at bigint not null, started_at bigint, finished_at bigint)`,
  `create table task_logs (
    task_id ${references("tasks", "cascade")} not null, first_index bigint not null,
    next_index bigint not null, bytes_after bigint not null, lines text not null,
    primary key (task_id, first_index))`,
  `create table runners (
    id ${id}, name text not null unique, labels text not null, token_hash text not null unique,
    local smallint not null, disabled smallint not null, version text not null,
    concurrency integer not null, last_seen_at bigint, created_at bigint not null)`,
  `create table audit (
    id ${id}, at bigint not null, user_id bigint, username text not null, action text not null,
    project_id bigint, subject text not null, detail text not null, remote_ip text not null)`,
  `create table push_codes (
    code_hash text primary key, user_id text not null, console smallint not null, channels text,
    expires_at bigint not null)`,
];

const indexes = [
  "create unique index users_name on users (lower(username))",
  "create index sessions_user on sessions (user_id)",
  "create index sessions_expiry on sessions (expires_at)",
  "create index api_tokens_user on api_tokens (user_id, id)",
  "create index group_members_user on group_members (user_id)",
  "create index projects_group on projects (group_id)",
  "create index project_members_user on project_members (user_id)",
  "create index former_keys_project on former_keys (project_id)",

  // Lists of deliveries run newest first through one of these. The first holds all that the chart counts.
  "create index deliveries_time on deliveries (created_at, id, status, count, project_id)",
  "create index deliveries_status on deliveries (status, created_at, id)",
  "create index deliveries_code on deliveries (code, created_at, id)",
  "create index deliveries_project on deliveries (project_id, created_at, id)",
  // Also the look-up of the debounce window.
  "create index deliveries_project_status on deliveries (project_id, status, created_at, id)",
  "create index deliveries_host_id on deliveries (host_delivery_id, project_id, created_at, id) where host_delivery_id <> ''",
  'create index deliveries_commit on deliveries ("commit", created_at, id) where "commit" <> \'\'',
  "create index deliveries_ref on deliveries (ref, created_at, id) where ref <> ''",

  "create index tasks_project on tasks (project_id, id)",
  "create index tasks_state on tasks (state, id)",
  // Claims step from project to project and take the first of each.
  "create index tasks_queued on tasks (project_id, priority desc, id) where state = 'queued'",
  `create index tasks_unfinished on tasks (project_id, id)
    where state in ('queued', 'dispatched', 'running', 'canceling')`,
  // At most one task of a project is with a runner: two claims that race cannot both win.
  `create unique index tasks_held on tasks (project_id)
    where state in ('dispatched', 'running', 'canceling')`,

  "create index audit_time on audit (at, id)",
  "create index audit_user on audit (user_id, at, id)",
  "create index audit_project on audit (project_id, at, id)",
  "create index audit_action on audit (action, at, id)",
  "create index push_codes_expiry on push_codes (expires_at)",
];

export function initial(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of [...tables(dialect.idColumn), ...indexes]) await sql.raw(statement).execute(db);
    },
  };
}
