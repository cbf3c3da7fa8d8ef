import type { TableName } from "./schema.ts";

/**
 * Not in a backup. Waiting outgoing calls and their attempts: the original sends them, and a copy must not send them
 * again. Sign-in attempts: they count for minutes only. Ref tips: the original has deployed later pushes, so the first
 * poll of a copy must not compare with old tips. Output that people wait for, and releases on their way to a task: they wait at
 * the original.
 */
export const transientTables = [
  "outgoing_calls",
  "outgoing_attempts",
  "attempts",
  "ref_tips",
  "polls",
  "output_reads",
  "transfers",
] as const satisfies TableName[];

/** The tables of a backup, each after the tables that it refers to. */
export const backupTables = [
  "meta",
  "users",
  "identities",
  "former_logins",
  "sessions",
  "api_tokens",
  "groups",
  "group_members",
  "group_secrets",
  "projects",
  "project_secrets",
  "project_members",
  "route_places",
  "webhook_configs",
  "former_keys",
  "deliveries",
  "replaced_deliveries",
  "tasks",
  "task_logs",
  "releases",
  "service_outputs",
  "services",
  "service_samples",
  "service_requests",
  "runners",
  "host_tokens",
  "host_hooks",
  "audit",
  "push_codes",
  "gateway_minutes",
] as const satisfies Exclude<TableName, (typeof transientTables)[number]>[];
export type BackupTable = (typeof backupTables)[number];
