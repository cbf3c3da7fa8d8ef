import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import { sealedPurpose } from "../model/sealed.ts";
import type { Keepers, Store } from "../model/store.ts";
import { type WebhookConfig, webhookDefaults } from "../model/webhook-config.ts";
import { randomToken, type Secrets } from "../secrets.ts";

/** Fields that a save may carry; those that are absent stay as they are. */
export interface WebhookChange
  extends Partial<
    Omit<WebhookConfig, "projectId" | "key" | "secret" | "secondSecret" | "secondSecretUntil" | "updatedAt">
  > {
  /** Plain text; "" keeps the stored one. */
  secret?: string;
  clearSecret?: boolean;
  /** Accepted beside the first. "" keeps the stored one. */
  secondSecret?: string;
  clearSecondSecret?: boolean;
  /** With a new `secret` and no `secondSecret`, the secret so far becomes the second one until then. */
  secondSecretUntil?: Date | null;
}

/** What a save changed; values of what is not secret. */
export interface ConfigChanges {
  fields: string[];
  from: Record<string, unknown>;
  to: Record<string, unknown>;
}

export interface EndpointAddress {
  url: string | null;
  baseUrlConfigured: boolean;
}

/** `whsec`: as Standard Webhooks and GitLab's signing token write a key, `whsec_` and base64. */
export const secretFormats = ["base64url", "whsec"] as const;
export type SecretFormat = (typeof secretFormats)[number];

export interface WebhookManagement {
  read(projectId: number): Promise<WebhookConfig>;
  /** `audited` and `allowed` run in the same transaction; `allowed` throws if the change is not permitted. */
  save(
    projectId: number,
    change: WebhookChange,
    audited: (keepers: Keepers, changes: ConfigChanges) => Promise<void>,
    allowed?: (before: WebhookConfig) => void,
  ): Promise<WebhookConfig>;
  resetKey(projectId: number, audited: (keepers: Keepers) => Promise<void>): Promise<WebhookConfig>;
  /** 32 random bytes; not saved. */
  generateSecret(format?: SecretFormat): string;
  addressOf(config: Pick<WebhookConfig, "key">): EndpointAddress;
  warningsOf(config: WebhookConfig): string[];
  effectiveDebounceSeconds(config: WebhookConfig): number;
}

export interface WebhookManagementOptions {
  store: Store;
  secrets: Secrets;
  clock: Clock;
  debounceSeconds: number;
  /** The configured base address, or the one inferred from where the server listens. */
  baseUrl: () => { url: string; isConfigured: boolean };
}

const hookKeyBytes = 24;
const secretBytes = 32;

export function buildWebhookManagement(options: WebhookManagementOptions): WebhookManagement {
  const { store, secrets, clock, baseUrl } = options;
  const now = () => new Date(clock.now());
  const read = async (keepers: Keepers, projectId: number) =>
    (await keepers.webhookConfigs.ofProject(projectId)) ?? defaultConfig(projectId, now());
  /** By the project, which is there before its configuration is. */
  const readToChange = async (keepers: Keepers, projectId: number) => {
    await keepers.projects.hold(projectId);
    return read(keepers, projectId);
  };

  async function save(
    projectId: number,
    change: WebhookChange,
    audited: (keepers: Keepers, changes: ConfigChanges) => Promise<void>,
    allowed?: (before: WebhookConfig) => void,
  ): Promise<WebhookConfig> {
    return store.transaction(async (keepers) => {
      const before = await readToChange(keepers, projectId);
      allowed?.(before);
      const after = changedConfig(before, change, secrets, now());
      await keepers.webhookConfigs.save(after);
      await audited(keepers, changesOf(before, after));
      return after;
    });
  }

  async function resetKey(projectId: number, audited: (keepers: Keepers) => Promise<void>) {
    return store.transaction(async (keepers) => {
      const before = await readToChange(keepers, projectId);
      if (before.key === null)
        throw new Fault("conflict", "There is no key yet: save the webhook with enabled first.");
      const after = { ...before, key: newHookKey(), updatedAt: laterThan(before.updatedAt, now()) };
      await keepers.webhookConfigs.save(after);
      await audited(keepers);
      return after;
    });
  }

  return {
    read: (projectId) => read(store, projectId),
    save,
    resetKey,
    generateSecret: (format = "base64url") =>
      format === "whsec" ? `whsec_${randomToken(secretBytes, "base64")}` : randomToken(secretBytes),
    addressOf({ key }) {
      const { url, isConfigured } = baseUrl();
      return { url: key === null ? null : `${url}/api/hooks/git/${key}`, baseUrlConfigured: isConfigured };
    },
    warningsOf: (config) => warningsOf(config, baseUrl().isConfigured),
    effectiveDebounceSeconds: (config) => config.debounceSeconds ?? options.debounceSeconds,
  };
}

export function defaultConfig(projectId: number, now: Date): WebhookConfig {
  return {
    ...webhookDefaults,
    events: [...webhookDefaults.events],
    branchFilter: [],
    tagFilter: [],
    pathFilter: [],
    projectId,
    key: null,
    secret: null,
    secondSecret: null,
    secondSecretUntil: null,
    updatedAt: now,
  };
}

function newHookKey(): string {
  return randomToken(hookKeyBytes, "hex");
}

/** The configuration with a change applied; fall-backs that are values of their own are filled in. */
export function changedConfig(
  before: WebhookConfig,
  change: WebhookChange,
  secrets: Secrets,
  now: Date,
): WebhookConfig {
  const { secret, clearSecret, secondSecret, clearSecondSecret, secondSecretUntil, ...fields } = change;
  const after: WebhookConfig = { ...before, ...fields, updatedAt: laterThan(before.updatedAt, now) };
  after.secretHeader = after.secretHeader.trim() || webhookDefaults.secretHeader;
  after.secretQuery = after.secretQuery.trim() || webhookDefaults.secretQuery;
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

/** A ciphertext is bound to its place, so that it cannot simply be moved. */
function asSecond(ciphertext: string, projectId: number, secrets: Secrets): string {
  const plain = secrets.open(sealedPurpose.webhookSecret(projectId), ciphertext);
  return secrets.seal(sealedPurpose.webhookSecondSecret(projectId), plain);
}

/** Every version has a time of its own, so that instances see that theirs is old. */
function laterThan(before: Date, now: Date): Date {
  return new Date(Math.max(now.getTime(), before.getTime() + 1));
}

/** Whoever has these may start builds: that they changed is told, never what they are. */
const untold: readonly (keyof WebhookConfig)[] = ["key", "secret", "secondSecret"];

function changesOf(before: WebhookConfig, after: WebhookConfig): ConfigChanges {
  const names = Object.keys(after) as (keyof WebhookConfig)[];
  const fields = names.filter(
    (name) => name !== "updatedAt" && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  const told = fields.filter((name) => !untold.includes(name));
  const valuesOf = (config: WebhookConfig) => Object.fromEntries(told.map((name) => [name, config[name]]));
  return { fields, from: valuesOf(before), to: valuesOf(after) };
}

function warningsOf(config: WebhookConfig, isBaseUrlConfigured: boolean): string[] {
  const events = config.events.length === 0 ? webhookDefaults.events : config.events;
  const listens = (event: WebhookConfig["events"][number]) => (events as readonly string[]).includes(event);
  const warnings: string[] = [];
  if (config.enabled && config.secret === null)
    warnings.push("The webhook is enabled without a secret: anyone who knows the address can start builds.");
  if (!isBaseUrlConfigured)
    warnings.push("server.baseUrl is not set: the address is inferred and reachable from this machine only.");
  if (config.tagFilter.length > 0 && !listens("tag"))
    warnings.push("A tag filter is set, but the event tag is not among the allowed events.");
  if (config.branchFilter.length > 0 && !listens("push") && !listens("merge_request"))
    warnings.push("A branch filter is set, but neither push nor merge_request is among the allowed events.");
  return warnings;
}
