import type { AuditEntry } from "../model/audit.ts";
import { sealedPurpose } from "../model/sealed.ts";
import { operation } from "../model/store.ts";
import { inForce, type WebhookConfig } from "../model/webhook-config.ts";
import { randomToken, type Secrets } from "../secrets.ts";

/** A partial save of a webhook (PUT): absent fields stay unchanged. */
export interface WebhookChange
  extends Partial<
    Omit<WebhookConfig, "projectId" | "key" | "secret" | "secondSecret" | "secondSecretUntil" | "updatedAt">
  > {
  /** Plain text; "" keeps the stored one. */
  secret?: string;
  clearSecret?: boolean;
  /** Accepted in addition to the first secret. "" keeps the stored one. */
  secondSecret?: string;
  clearSecondSecret?: boolean;
  /** With a new `secret` and no `secondSecret`, the previous secret becomes the second one until then. */
  secondSecretUntil?: Date | null;
}

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
  const after = inForce({ ...before, ...fields, updatedAt: laterThan(before.updatedAt, now) });
  if (after.enabled) after.key ??= newHookKey();
  if (secondSecretUntil !== undefined) after.secondSecretUntil = secondSecretUntil;
  if (clearSecret) after.secret = null;
  if (clearSecondSecret) [after.secondSecret, after.secondSecretUntil] = [null, null];
  const { projectId } = before;
  if (secret) {
    const isRotation = !secondSecret && secondSecretUntil && before.secret !== null;
    if (isRotation) after.secondSecret = asSecond(before.secret ?? "", projectId, secrets);
    after.secret = secrets.seal(sealedPurpose.webhookSecret(projectId), secret);
  }
  if (secondSecret)
    after.secondSecret = secrets.seal(sealedPurpose.webhookSecondSecret(projectId), secondSecret);
  return after;
}

/** A ciphertext is bound to its column, so it cannot simply be moved. */
function asSecond(ciphertext: string, projectId: number, secrets: Secrets): string {
  const plain = secrets.open(sealedPurpose.webhookSecret(projectId), ciphertext);
  return secrets.seal(sealedPurpose.webhookSecondSecret(projectId), plain);
}

/** Every version has its own time, so that other instances detect that theirs is outdated. */
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
