import type { Generated } from "kysely";
import type { FormerLogin, Identity } from "../../model/account/identity.ts";
import type { AuditEntry } from "../../model/audit.ts";
import type { GatewayMinute } from "../../model/console/gateway-minute.ts";
import type { Delivery, Followed } from "../../model/delivery.ts";
import type { Group } from "../../model/group.ts";
import type { HostHook } from "../../model/host/host-hook.ts";
import type { HostToken } from "../../model/host/host-token.ts";
import type { OutgoingAttempt } from "../../model/outgoing-attempt.ts";
import type { OutgoingCall } from "../../model/outgoing-call.ts";
import type { Permission } from "../../model/permission.ts";
import type { Project } from "../../model/project.ts";
import type { PushCode } from "../../model/push-code.ts";
import type { Poll, RefTip } from "../../model/ref-tip.ts";
import type { Release, ServiceOutput } from "../../model/release.ts";
import type { Runner } from "../../model/runner.ts";
import type { OutputRead } from "../../model/service/output-read.ts";
import type { ClaimedPlace } from "../../model/service/route-place.ts";
import type { RequestMinute, RunningService, ServiceSample } from "../../model/service/running-service.ts";
import type { Transfer } from "../../model/service/transfer.ts";
import type { SecretForm, SecretScope } from "../../model/settings/variables.ts";
import type { Task } from "../../model/task.ts";
import type { ApiToken, Session, UserWithPassword } from "../../model/user.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";

/**
 * The tables, the same in both databases. Times are milliseconds since the epoch, booleans 0 and 1, structures JSON
 * text: PostgreSQL's jsonb refuses escaped NULs, and only the label match looks inside.
 */
type Milliseconds = number;
type Flag = number;
type Json = string;

type SnakeCase<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : "";

/** The column of a field; null stays null. */
type Column<T> = T extends Date
  ? Milliseconds
  : T extends boolean
    ? Flag
    : T extends string | number | null
      ? T
      : Json;

/** The columns of a model: its fields in snake case, as table.ts writes them. */
type TableOf<Model> = {
  [Name in keyof Model & string as SnakeCase<Name>]-?: Name extends "id"
    ? Generated<number>
    : Column<Model[Name]>;
};

/** Long columns come last in the table, so that SQLite reads a list without their overflow pages. */
export type DeliveryTable = TableOf<Omit<Delivery, Followed>>;

export type TaskTable = TableOf<Task>;

/** One row per batch of lines that arrived together: `[stage, at, text]` each, from `first_index` on. */
interface TaskLogTable {
  task_id: number;
  first_index: number;
  next_index: number;
  /** Bytes of text up to and including this row, so that one look-up gives the size of a log. */
  bytes_after: number;
  lines: Json;
}

export interface Schema {
  users: TableOf<UserWithPassword>;
  sessions: TableOf<Session>;
  identities: TableOf<Identity>;
  former_logins: TableOf<FormerLogin>;
  api_tokens: TableOf<ApiToken>;
  groups: TableOf<Group>;
  projects: TableOf<Project>;
  project_secrets: {
    project_id: number;
    name: string;
    ciphertext: string;
    scope: SecretScope | null;
    form: SecretForm;
  };
  group_secrets: {
    group_id: number;
    name: string;
    ciphertext: string;
    scope: SecretScope | null;
    form: SecretForm;
  };
  project_members: { project_id: number; user_id: number; permission: Permission };
  group_members: { group_id: number; user_id: number; permission: Permission };
  webhook_configs: TableOf<WebhookConfig>;
  former_keys: { key_hash: string; project_id: number; replaced_at: Milliseconds };
  deliveries: DeliveryTable;
  replaced_deliveries: { delivery_id: number; task_id: number; replaced_by: number };
  tasks: TaskTable;
  task_logs: TaskLogTable;
  releases: TableOf<Release>;
  service_outputs: TableOf<ServiceOutput> & { task_id: number };
  services: TableOf<RunningService>;
  service_samples: TableOf<ServiceSample> & { project_id: number; name: string };
  service_requests: TableOf<RequestMinute> & { project_id: number; name: string };
  route_places: TableOf<ClaimedPlace>;
  output_reads: TableOf<OutputRead>;
  transfers: TableOf<Transfer>;
  runners: TableOf<Runner> & { gone_since: Milliseconds | null };
  audit: TableOf<AuditEntry>;
  push_codes: TableOf<PushCode>;
  outgoing_calls: TableOf<OutgoingCall>;
  outgoing_attempts: TableOf<OutgoingAttempt>;
  attempts: { key: string; count: number; ends_at: Milliseconds };
  ref_tips: TableOf<RefTip>;
  polls: TableOf<Poll>;
  host_tokens: TableOf<HostToken>;
  host_hooks: TableOf<HostHook>;
  gateway_minutes: TableOf<GatewayMinute>;
  meta: { name: string; value: string };
}

export type TableName = keyof Schema;
