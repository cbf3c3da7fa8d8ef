import { type Kysely, type Migration, sql } from "kysely";
import type { Dialect } from "../query/dialect.ts";

const references = (table: string, onDelete: "cascade" | "set null") =>
  `bigint references ${table} (id) on delete ${onDelete}`;

/** Plain SQL that both databases read alike; only the type of a numbered id differs. */
const tables = (id: string) => [
  "create table meta (name text primary key, value text not null)",
  `create table users (
    id ${id}, username text not null, password_hash text not null, role text not null,
    disabled smallint not null, created_at bigint not null, language text)`,
  `create table sessions (
    id ${id}, user_id ${references("users", "cascade")} not null, token_hash text not null unique,
    user_agent text not null, remote_ip text not null, created_at bigint not null,
    last_seen_at bigint not null, expires_at bigint not null)`,
  `create table api_tokens (
    id ${id}, user_id ${references("users", "cascade")} not null, name text not null,
    token_hash text not null unique, hint text not null, scopes text not null,
    created_at bigint not null, last_used_at bigint, expires_at bigint)`,
  // Failed sign-ins, for limits across all instances. The key is a hash: people type passwords into the name field.
  "create table attempts (key text primary key, count integer not null, ends_at bigint not null)",
  `create table groups (id ${id}, name text not null unique, created_at bigint not null, labels text)`,
  `create table group_members (
    group_id ${references("groups", "cascade")} not null, user_id ${references("users", "cascade")} not null,
    permission text not null, primary key (group_id, user_id))`,
  `create table projects (
    id ${id}, name text not null unique, group_id ${references("groups", "set null")}, git text not null,
    stages text not null, env text not null, notify text not null, labels text not null,
    supersede text not null, live_task_id bigint, sample smallint not null, created_at bigint not null,
    commit_status text not null default '{"context":"slipway","skipped":false}',
    image text not null default '', needs_container smallint not null default 0,
    isolation text not null default 'none', cache text not null default '[]',
    limits text not null default '{"memoryMb":null,"cpus":null,"processes":null,"nice":0}',
    rollback text not null default 'off', home_runner_id bigint, live_note text not null default '',
    needs text not null default '[]', deploy text not null
      default '{"approval":"none","branches":[],"notByPusher":false,"expiresAfterMinutes":4320}')`,
  `create table project_secrets (
    project_id ${references("projects", "cascade")} not null, name text not null, ciphertext text not null,
    scope text, primary key (project_id, name))`,
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
    second_secret_until bigint, updated_at bigint not null, merge_request_actions text,
    repository_check text not null default 'warn', more_skip_keywords text not null default '[]')`,
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
  // Which delivery took over the task of another. A separate table, because a column after the body would make SQLite
  // read the whole body of each delivery in a list.
  `create table replaced_deliveries (
    delivery_id bigint primary key references deliveries (id) on delete cascade,
    task_id bigint not null, replaced_by bigint not null)`,
  `create table tasks (
    id ${id}, project_id ${references("projects", "cascade")} not null, state text not null,
    trigger_type text not null, triggered_by text not null, ref text not null, "commit" text,
    message text not null, author text not null, actions text, stages text not null, cause_ref text,
    cause_commit text, delivery_id bigint, rerun_of bigint, superseded_by bigint, reason text not null,
    priority integer not null, not_before bigint, attempt integer not null, lease_hash text,
    lease_until bigint, runner_id bigint, created_at bigint not null, started_at bigint, finished_at bigint,
    rollback_to bigint, rollback text, source text, approval text)`,
  `create table task_logs (
    task_id ${references("tasks", "cascade")} not null, first_index bigint not null,
    next_index bigint not null, bytes_after bigint not null, lines text not null,
    primary key (task_id, first_index))`,
  `create table releases (
    task_id bigint primary key references tasks (id) on delete cascade,
    project_id bigint not null references projects (id) on delete cascade,
    attempt integer not null, runner_id bigint not null, state text not null, ref text not null, "commit" text not null,
    message text not null, author text not null, stages text not null, env text not null, bytes bigint,
    deployed_at bigint not null, ended_at bigint)`,
  `create table service_outputs (
    task_id bigint primary key references tasks (id) on delete cascade,
    has_exited smallint not null, output text not null)`,
  `create table ref_tips (
    project_id bigint not null references projects (id) on delete cascade, ref text not null,
    "commit" text not null, pushed_at bigint not null, polled_task_id bigint, primary key (project_id, ref))`,
  `create table polls (
    project_id bigint primary key references projects (id) on delete cascade, url text not null,
    version text not null, scope text not null, held_by text, held_until bigint, last_at bigint,
    next_at bigint not null, error text not null, note text not null)`,
  `create table outgoing_calls (
    id ${id}, project_id ${references("projects", "cascade")} not null, kind text not null,
    subject text, url text not null, message_id text not null, proof text not null, body text not null,
    attempts integer not null, next_try_at bigint not null, created_at bigint not null, target_id text,
    event text not null default '')`,
  `create table outgoing_attempts (
    id ${id}, project_id ${references("projects", "cascade")} not null, at bigint not null,
    kind text not null, event text not null, target_id text, host text not null, attempt integer not null,
    is_delivered smallint not null, status integer, fault text not null, response text not null)`,
  `create table runners (
    id ${id}, name text not null unique, labels text not null, token_hash text not null unique,
    local smallint not null, disabled smallint not null, version text not null,
    concurrency integer not null, last_seen_at bigint, created_at bigint not null,
    group_ids text not null default '[]', offered_labels text, also_unlabelled smallint not null default 0,
    isolated smallint not null default 0, gone_since bigint, isolation text not null default 'none',
    containers smallint not null default 0, features text not null default '[]')`,
  `create table host_tokens (
    id ${id}, user_id ${references("users", "cascade")} not null, kind text not null,
    origin text not null, ciphertext text not null, hint text not null, created_at bigint not null,
    login text not null default '', scopes text, expires_at bigint, unique (user_id, origin))`,
  `create table host_hooks (
    project_id bigint primary key references projects (id) on delete cascade,
    token_id ${references("host_tokens", "set null")}, kind text not null, origin text not null,
    path text not null, hook_id text not null, key_id text, state text not null, note text not null,
    checked_at bigint not null, next_check_at bigint not null)`,
  `create table audit (
    id ${id}, at bigint not null, user_id bigint, username text not null, action text not null,
    project_id bigint, subject text not null, detail text not null, remote_ip text not null)`,
  `create table push_codes (
    code_hash text primary key, user_id text not null, console smallint not null, channels text,
    expires_at bigint not null, ends_at bigint)`,
  // The time comes first: it is what every query asks for.
  `create table gateway_minutes (
    at bigint not null, gateway text not null, connections bigint not null, messages bigint not null,
    is_cluster smallint not null, primary key (at, gateway))`,
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

  // Lists of deliveries run newest first through one of these. Every index costs a page write per delivery, and most
  // deliveries are accepted: those are found by time and project only. The first index holds all that the chart counts.
  "create index deliveries_time on deliveries (created_at, id, status, count, project_id)",
  "create index deliveries_status on deliveries (status, created_at, id) where status <> 'accepted'",
  "create index deliveries_code on deliveries (code, created_at, id) where code <> 'accepted'",
  // Also the look-up of the debounce window, which skips merged deliveries without reading their rows.
  "create index deliveries_project on deliveries (project_id, created_at, id, status)",
  `create index deliveries_project_status on deliveries (project_id, status, created_at, id)
    where status <> 'accepted'`,
  "create index deliveries_host_id on deliveries (host_delivery_id, project_id, created_at, id) where host_delivery_id <> ''",
  'create index deliveries_commit on deliveries ("commit", created_at, id) where "commit" <> \'\'',
  "create index deliveries_ref on deliveries (ref, created_at, id) where ref <> ''",
  "create index replaced_deliveries_task on replaced_deliveries (task_id, replaced_by)",

  "create index tasks_project on tasks (project_id, id)",
  "create index tasks_state on tasks (state, id)",
  // Claims step from project to project and take the first of each. With `not_before`, the tasks before another one are
  // counted without reading their rows.
  "create index tasks_queued on tasks (project_id, priority desc, id, not_before) where state = 'queued'",
  "create index tasks_waiting on tasks (project_id, id) where state = 'waiting'",
  // At most one task of a project is with a runner: two claims that race cannot both win.
  `create unique index tasks_held on tasks (project_id)
    where state in ('dispatched', 'running', 'canceling')`,
  // Lists of finished tasks; unfinished ones have their own indexes, so that a new task costs no more.
  'create index tasks_commit on tasks ("commit", id) where finished_at is not null',
  "create index tasks_author on tasks (author, id) where finished_at is not null",
  "create index tasks_ref on tasks (ref, id) where finished_at is not null",
  "create index tasks_trigger on tasks (trigger_type, id) where finished_at is not null",
  "create index tasks_time on tasks (created_at, id) where finished_at is not null",
  "create index releases_project on releases (project_id, deployed_at)",

  "create index outgoing_calls_due on outgoing_calls (next_try_at)",
  "create index outgoing_calls_subject on outgoing_calls (subject) where subject is not null",
  "create index outgoing_calls_project on outgoing_calls (project_id)",
  "create index outgoing_attempts_project on outgoing_attempts (project_id, id)",
  "create index host_hooks_token on host_hooks (token_id)",
  "create index audit_time on audit (at, id)",
  "create index audit_user on audit (user_id, at, id)",
  "create index audit_project on audit (project_id, at, id)",
  "create index audit_action on audit (action, at, id)",
  "create index push_codes_expiry on push_codes (expires_at)",
];

/**
 * PostgreSQL's default compression takes longer than storing the rest of the delivery; lz4 is many times faster. A
 * server built without lz4, or before version 14, keeps its default.
 */
const useLz4 = `do $$ begin
  alter table deliveries alter column body set compression lz4, alter column trace set compression lz4,
    alter column normalized set compression lz4, alter column headers set compression lz4;
  alter table task_logs alter column lines set compression lz4;
exception when others then null; end $$`;

export function schema({ name, idColumn }: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>) {
      const statements = [...tables(idColumn), ...indexes, ...(name === "postgres" ? [useLz4] : [])];
      for (const statement of statements) await sql.raw(statement).execute(db);
    },
  };
}
