import type { TableName } from "./schema.ts";

/**
 * Not in a backup. The original sends the outgoing calls that wait, and a copy must not send them twice; their attempts are
 * the original's. Attempts to sign in count for minutes. The original has deployed what was pushed since the backup, so that
 * the first poll of a copy must not compare with the tips of then.
 */
export const transientTables = [
  "outgoing_calls",
  "outgoing_attempts",
  "attempts",
  "ref_tips",
  "polls",
] as const satisfies TableName[];

/** The tables of a backup, each after those it refers to. */
export const backupTables = [
  "meta",
  "users",
  "sessions",
  "api_tokens",
  "groups",
  "group_members",
  "projects",
  "project_secrets",
  "project_members",
  "webhook_configs",
  "former_keys",
  "deliveries",
  "replaced_deliveries",
  "tasks",
  "task_logs",
  "releases",
  "service_outputs",
  "runners",
  "audit",
  "push_codes",
] as const satisfies Exclude<TableName, (typeof transientTables)[number]>[];
export type BackupTable = (typeof backupTables)[number];
