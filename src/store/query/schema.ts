import type { Generated } from "kysely";
import type { DeliveryCode, DeliveryStatus } from "../../model/delivery.ts";
import type { IsolationLevel } from "../../model/execution.ts";
import type { OutgoingAttempt } from "../../model/outgoing-attempt.ts";
import type { OutgoingCall } from "../../model/outgoing-call.ts";
import type { Permission } from "../../model/permission.ts";
import type { Rollback, Supersede } from "../../model/project.ts";
import type { ReleaseState } from "../../model/release.ts";
import type { TaskState, TriggerType } from "../../model/task.ts";
import type { Role } from "../../model/user.ts";
import type { ProviderName, WebhookConfig } from "../../model/webhook-config.ts";

/**
 * What stands in the tables, the same in both databases. Times are milliseconds since the epoch in 64-bit integers:
 * they compare, index and come back alike everywhere, without time zones. Booleans are 0 and 1, structures are JSON
 * text: no query looks inside them but the label match, and text keeps escaped NULs that PostgreSQL's jsonb refuses.
 */
export type Milliseconds = number;
export type Flag = number;
export type Json = string;

export interface UserTable {
  id: Generated<number>;
  username: string;
  password_hash: string;
  role: Role;
  disabled: Flag;
  created_at: Milliseconds;
}

export interface SessionTable {
  id: Generated<number>;
  user_id: number;
  token_hash: string;
  user_agent: string;
  remote_ip: string;
  created_at: Milliseconds;
  last_seen_at: Milliseconds;
  expires_at: Milliseconds;
}

export interface ApiTokenTable {
  id: Generated<number>;
  user_id: number;
  name: string;
  token_hash: string;
  hint: string;
  scopes: Json;
  created_at: Milliseconds;
  last_used_at: Milliseconds | null;
  expires_at: Milliseconds | null;
}

export interface GroupTable {
  id: Generated<number>;
  name: string;
  labels: Json | null;
  created_at: Milliseconds;
}

export interface ProjectTable {
  id: Generated<number>;
  name: string;
  group_id: number | null;
  git: Json;
  stages: Json;
  env: Json;
  notify: Json;
  commit_status: Json;
  labels: Json;
  supersede: Supersede;
  image: string;
  needs_container: Flag;
  isolation: IsolationLevel;
  cache: Json;
  limits: Json;
  live_task_id: number | null;
  rollback: Rollback;
  home_runner_id: number | null;
  live_note: string;
  needs: Json;
  sample: Flag;
  created_at: Milliseconds;
}

export interface ProjectSecretTable {
  project_id: number;
  name: string;
  ciphertext: string;
}

export interface ProjectMemberTable {
  project_id: number;
  user_id: number;
  permission: Permission;
}

export interface GroupMemberTable {
  group_id: number;
  user_id: number;
  permission: Permission;
}

export interface WebhookConfigTable {
  project_id: number;
  key: string | null;
  enabled: Flag;
  provider: ProviderName;
  secret: string | null;
  secret_header: string;
  secret_query: string;
  verify_mode: WebhookConfig["verifyMode"];
  signature_prefix: string;
  signature_encoding: WebhookConfig["signatureEncoding"];
  events: Json;
  branch_filter: Json;
  tag_filter: Json;
  path_filter: Json;
  ref_source: WebhookConfig["refSource"];
  actions: Json | null;
  merge_request_actions: Json | null;
  queue_policy: WebhookConfig["queuePolicy"];
  debounce_seconds: number | null;
  skip_ci_keyword: string;
  debounce_scope: WebhookConfig["debounceScope"];
  allow_forks: Flag;
  repository_check: WebhookConfig["repositoryCheck"];
  second_secret: string | null;
  second_secret_until: Milliseconds | null;
  updated_at: Milliseconds;
}

export interface FormerKeyTable {
  key_hash: string;
  project_id: number;
  replaced_at: Milliseconds;
}

/** The long columns stand last: SQLite then reads a list without touching their overflow pages. */
export interface DeliveryTable {
  id: Generated<number>;
  project_id: number;
  project_name: string;
  provider: string;
  event: string;
  ref: string;
  ref_type: string;
  commit: string;
  commit_message: string;
  author: string;
  status: DeliveryStatus;
  reason: string;
  task_id: number;
  remote_ip: string;
  created_at: Milliseconds;
  code: DeliveryCode;
  http_status: number;
  count: number;
  host_delivery_id: string;
  repeat_of: number | null;
  replay_of: number | null;
  merged_into_task_id: number | null;
  former_project_id: number | null;
  headers: Json;
  normalized: Json | null;
  trace: Json;
  body: string;
}

export interface ReplacedDeliveryTable {
  delivery_id: number;
  task_id: number;
  replaced_by: number;
}

export interface TaskTable {
  id: Generated<number>;
  project_id: number;
  state: TaskState;
  trigger_type: TriggerType;
  triggered_by: string;
  ref: string;
  commit: string | null;
  message: string;
  author: string;
  actions: Json | null;
  stages: Json;
  cause_ref: string | null;
  cause_commit: string | null;
  source: Json | null;
  delivery_id: number | null;
  rerun_of: number | null;
  superseded_by: number | null;
  rollback_to: number | null;
  rollback: Json | null;
  reason: string;
  priority: number;
  not_before: Milliseconds | null;
  attempt: number;
  lease_hash: string | null;
  lease_until: Milliseconds | null;
  runner_id: number | null;
  created_at: Milliseconds;
  started_at: Milliseconds | null;
  finished_at: Milliseconds | null;
}

/** One row per batch of lines that arrived together: `[stage, at, text]` each, from `first_index` on. */
export interface TaskLogTable {
  task_id: number;
  first_index: number;
  next_index: number;
  /** Bytes of text up to and with this row, so that the size of a log is one look-up. */
  bytes_after: number;
  lines: Json;
}

export interface RunnerTable {
  id: Generated<number>;
  name: string;
  labels: Json;
  token_hash: string;
  local: Flag;
  disabled: Flag;
  version: string;
  concurrency: number;
  group_ids: Json;
  offered_labels: Json | null;
  also_unlabelled: Flag;
  isolated: Flag;
  isolation: IsolationLevel;
  containers: Flag;
  features: Json;
  gone_since: Milliseconds | null;
  last_seen_at: Milliseconds | null;
  created_at: Milliseconds;
}

export interface ReleaseTable {
  task_id: number;
  project_id: number;
  attempt: number;
  runner_id: number;
  state: ReleaseState;
  ref: string;
  commit: string;
  message: string;
  author: string;
  stages: Json;
  env: Json;
  bytes: number | null;
  deployed_at: Milliseconds;
}

export interface ServiceOutputTable {
  task_id: number;
  has_exited: Flag;
  output: string;
}

export interface AuditTable {
  id: Generated<number>;
  at: Milliseconds;
  user_id: number | null;
  username: string;
  action: string;
  project_id: number | null;
  subject: string;
  detail: Json;
  remote_ip: string;
}

export interface PushCodeTable {
  code_hash: string;
  user_id: string;
  console: Flag;
  channels: Json | null;
  expires_at: Milliseconds;
  ends_at: Milliseconds | null;
}

export interface AttemptTable {
  key: string;
  count: number;
  ends_at: Milliseconds;
}

export interface OutgoingCallTable {
  id: Generated<number>;
  project_id: number;
  kind: OutgoingCall["kind"];
  subject: string | null;
  url: string;
  target_id: string | null;
  event: string;
  message_id: string;
  proof: OutgoingCall["proof"];
  body: string;
  attempts: number;
  next_try_at: Milliseconds;
  created_at: Milliseconds;
}

export interface OutgoingAttemptTable {
  id: Generated<number>;
  project_id: number;
  at: Milliseconds;
  kind: OutgoingAttempt["kind"];
  event: string;
  target_id: string | null;
  host: string;
  attempt: number;
  is_delivered: Flag;
  status: number | null;
  fault: string;
  response: string;
}

export interface MetaTable {
  name: string;
  value: string;
}

export interface Schema {
  users: UserTable;
  sessions: SessionTable;
  api_tokens: ApiTokenTable;
  groups: GroupTable;
  projects: ProjectTable;
  project_secrets: ProjectSecretTable;
  project_members: ProjectMemberTable;
  group_members: GroupMemberTable;
  webhook_configs: WebhookConfigTable;
  former_keys: FormerKeyTable;
  deliveries: DeliveryTable;
  replaced_deliveries: ReplacedDeliveryTable;
  tasks: TaskTable;
  task_logs: TaskLogTable;
  releases: ReleaseTable;
  service_outputs: ServiceOutputTable;
  runners: RunnerTable;
  audit: AuditTable;
  push_codes: PushCodeTable;
  outgoing_calls: OutgoingCallTable;
  outgoing_attempts: OutgoingAttemptTable;
  attempts: AttemptTable;
  meta: MetaTable;
}

export type TableName = keyof Schema;
