import type { Clock } from "../clock.ts";
import { Fault } from "../errors.ts";
import type { NewAuditEntry } from "../model/audit.ts";
import type { Project } from "../model/project.ts";
import type { Store } from "../model/store.ts";
import { type WebhookConfig, webhookDefaults } from "../model/webhook-config.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { randomToken, type Secrets } from "../secrets.ts";
import {
  type ConfigChanges,
  changedConfig,
  changesOf,
  laterThan,
  newHookKey,
  saveWebhook,
  type WebhookChange,
} from "./save-webhook.ts";
import { lookedAt, warningsOf } from "./warnings.ts";

export interface EndpointAddress {
  url: string | null;
  baseUrlConfigured: boolean;
}

/** `whsec`: as Standard Webhooks and GitLab's signing token write a key, `whsec_` and base64. */
export const secretFormats = ["base64url", "whsec"] as const;
export type SecretFormat = (typeof secretFormats)[number];

export interface WebhookManagement {
  read(projectId: number): Promise<WebhookConfig>;
  /**
   * `audited` creates the audit entry that is stored with the change; null: none. `allowed` throws if the change is not
   * permitted. Both are called again if another save was stored first.
   */
  save(
    projectId: number,
    change: WebhookChange,
    audited: (changes: ConfigChanges) => NewAuditEntry | null,
    allowed?: (before: WebhookConfig) => void,
  ): Promise<WebhookConfig>;
  resetKey(projectId: number, audited: NewAuditEntry): Promise<WebhookConfig>;
  /** 32 random bytes; they are not saved. */
  generateSecret(format?: SecretFormat): string;
  endpointOf(config: Pick<WebhookConfig, "key">): EndpointAddress;
  warningsOf(config: WebhookConfig, project: Project): Promise<Reason[]>;
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

/** More simultaneous saves of one webhook are refused. */
const maxAttempts = 5;
const secretBytes = 32;

export function buildWebhookManagement(options: WebhookManagementOptions): WebhookManagement {
  const { store, secrets, clock, baseUrl } = options;
  const now = () => new Date(clock.now());
  const read = async (projectId: number) =>
    (await store.webhookConfigs.ofProject(projectId)) ?? defaultConfig(projectId, now());

  const effectiveDebounceSeconds = (config: WebhookConfig) =>
    config.debounceSeconds ?? options.debounceSeconds;

  /** Saves the result of `next` for the stored configuration; called again if another save was stored first. */
  async function replace(
    projectId: number,
    next: (before: WebhookConfig) => WebhookConfig,
    audited: (changes: ConfigChanges) => NewAuditEntry | null,
  ): Promise<WebhookConfig> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const stored = await store.webhookConfigs.ofProject(projectId);
      const before = stored ?? defaultConfig(projectId, now());
      const after = next(before);
      const save = { before: stored?.updatedAt ?? null, after, audited: audited(changesOf(before, after)) };
      if (await store.run(saveWebhook, save)) return after;
    }
    throw new Fault("unavailable", "The webhook is being saved by others; try again.", {
      isShown: true,
      retryAfterSeconds: 1,
    });
  }

  return {
    read,
    save: (projectId, change, audited, allowed) =>
      replace(
        projectId,
        (before) => {
          allowed?.(before);
          return changedConfig(before, change, secrets, now());
        },
        audited,
      ),
    resetKey: (projectId, audited) =>
      replace(
        projectId,
        (before) => {
          if (before.key === null) throw new Fault("conflict", newReason("no_key_yet"));
          return { ...before, key: newHookKey(), updatedAt: laterThan(before.updatedAt, now()) };
        },
        () => audited,
      ),
    generateSecret: (format = "base64url") =>
      format === "whsec" ? `whsec_${randomToken(secretBytes, "base64")}` : randomToken(secretBytes),
    endpointOf({ key }) {
      const { url, isConfigured } = baseUrl();
      return { url: key === null ? null : `${url}/api/hooks/git/${key}`, baseUrlConfigured: isConfigured };
    },
    async warningsOf(config, project) {
      const recent = await store.deliveries.scan({ projectId: project.id }, null, lookedAt);
      const debounceSeconds = effectiveDebounceSeconds(config);
      return warningsOf(config, project, { recent, debounceSeconds, hasBaseUrl: baseUrl().isConfigured });
    },
    effectiveDebounceSeconds,
  };
}

export function defaultConfig(projectId: number, now: Date): WebhookConfig {
  return {
    ...structuredClone(webhookDefaults),
    projectId,
    key: null,
    secret: null,
    secondSecret: null,
    secondSecretUntil: null,
    updatedAt: now,
  };
}
