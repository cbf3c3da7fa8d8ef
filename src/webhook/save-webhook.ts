import type { AuditEntry } from "../model/audit.ts";
import { operation } from "../model/store.ts";
import { inForce, type WebhookConfig } from "../model/webhook-config.ts";
import { randomToken, type Secrets } from "../secrets.ts";
import { changedSecrets, type SecretChange, type StoredSecrets } from "./hook/hook-secrets.ts";

/** A partial save of a webhook (PUT): absent fields stay unchanged. */
export interface WebhookChange
  extends Partial<Omit<WebhookConfig, "projectId" | "key" | "updatedAt" | keyof StoredSecrets>>,
    SecretChange {}

/** The changes of a save; values only of fields that are not secret. */
export interface ConfigChanges {
  fields: string[];
  from: Record<string, unknown>;
  to: Record<string, unknown>;
}

interface WebhookSave {
  /** Version of the configuration that `after` is based on; null: there was none. */
  before: Date | null;
  after: WebhookConfig;
  audited: Omit<AuditEntry, "id"> | null;
}

/** Stores a changed configuration. False: another save was stored first, so `after` must be built again. */
export const saveWebhook = operation(
  "saveWebhook",
  async (keepers, { before, after, audited }: WebhookSave): Promise<boolean> => {
    // The project; it exists before its configuration does.
    await keepers.projects.hold(after.projectId);
    const current = await keepers.webhookConfigs.ofProject(after.projectId);
    if (current?.updatedAt.getTime() !== before?.getTime()) return false;
    await keepers.webhookConfigs.save(after);
    // Enabling a webhook again does not build earlier pushes.
    if (!after.enabled) await keepers.polls.forget(after.projectId);
    if (audited !== null) await keepers.audit.add(audited);
    return true;
  },
);

/** The configuration with a change applied. */
export function changedConfig(
  before: WebhookConfig,
  change: WebhookChange,
  secrets: Secrets,
  now: Date,
): WebhookConfig {
  const { secret, clearSecret, secondSecret, clearSecondSecret, secondSecretUntil, ...fields } = change;
  const after = inForce({
    ...before,
    ...fields,
    ...changedSecrets(before, change, secrets),
    updatedAt: laterThan(before.updatedAt, now),
  });
  if (after.enabled) after.key ??= newHookKey();
  return after;
}

/** Every version has its own time, so that a save notices that it was made from an earlier one. */
export function laterThan(before: Date, now: Date): Date {
  return new Date(Math.max(now.getTime(), before.getTime() + 1));
}

/** Credentials that can start builds: the audit log says that they changed, without their values. */
const untold: readonly (keyof WebhookConfig)[] = ["key", "secret", "secondSecret"];

export function changesOf(before: WebhookConfig, after: WebhookConfig): ConfigChanges {
  const names = Object.keys(after) as (keyof WebhookConfig)[];
  const fields = names.filter(
    (name) => name !== "updatedAt" && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  const told = fields.filter((name) => !untold.includes(name));
  const valuesOf = (config: WebhookConfig) => Object.fromEntries(told.map((name) => [name, config[name]]));
  return { fields, from: valuesOf(before), to: valuesOf(after) };
}

const hookKeyBytes = 24;

export function newHookKey(): string {
  return randomToken(hookKeyBytes, "hex");
}
