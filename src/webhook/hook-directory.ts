import { sealedPurpose } from "../model/sealed.ts";
import type { Keepers } from "../model/store.ts";
import type { WebhookConfig } from "../model/webhook-config.ts";
import type { Secrets } from "../secrets.ts";
import { type Rules, rulesOf } from "./rules.ts";

/** A project's webhook, ready to judge by. */
export interface Hook {
  config: WebhookConfig;
  projectName: string;
  rules: Rules;
  /** Opened at the first use. Throws when a stored secret does not open: that is a failure, never "no secret". */
  secrets(): HookSecrets;
}

export interface HookSecrets {
  /** Accepted at `nowMs`; empty means that nothing is verified. */
  accepted(nowMs: number): string[];
  /** Accepted once, and over. */
  ended(nowMs: number): string[];
}

/** Hooks by their key, kept in memory so that a delivery costs no query and no decryption for its configuration. */
export interface HookDirectory {
  byKey(key: string): Promise<Hook | null>;
  /** As stored now, whatever is remembered. */
  reload(key: string): Promise<Hook | null>;
  hookOf(config: WebhookConfig, projectName: string): Hook;
  /** Must follow every change of a configuration. */
  forget(key: string | null): void;
}

/** Beyond this the one longest remembered is read again. */
const maxHooks = 10_000;

export interface HookDirectoryOptions {
  keepers: Pick<Keepers, "webhookConfigs" | "projects">;
  secrets: Secrets;
  /** webhook.debounceSeconds, for projects that set none. */
  debounceSeconds: number;
}

export function buildHookDirectory({
  keepers,
  secrets,
  debounceSeconds,
}: HookDirectoryOptions): HookDirectory {
  const hooks = new Map<string, Hook>();

  const hookOf = (config: WebhookConfig, projectName: string): Hook => {
    let opened: HookSecrets | null = null;
    return {
      config,
      projectName,
      rules: rulesOf(config, debounceSeconds),
      secrets() {
        opened ??= openSecrets(config, secrets);
        return opened;
      },
    };
  };

  async function reload(key: string): Promise<Hook | null> {
    const config = await keepers.webhookConfigs.byKey(key);
    hooks.delete(key);
    const project = config === null ? null : await keepers.projects.byId(config.projectId);
    if (config === null || project === null) return null;
    const hook = hookOf(config, project.name);
    hooks.set(key, hook);
    if (hooks.size > maxHooks) hooks.delete(hooks.keys().next().value ?? key);
    return hook;
  }

  return {
    byKey: async (key) => hooks.get(key) ?? (await reload(key)),
    reload,
    hookOf,
    forget(key) {
      if (key !== null) hooks.delete(key);
    },
  };
}

function openSecrets(config: WebhookConfig, secrets: Secrets): HookSecrets {
  const { projectId, secret, secondSecret, secondSecretUntil } = config;
  const first = secret === null ? [] : [secrets.open(sealedPurpose.webhookSecret(projectId), secret)];
  const second =
    secondSecret === null ? [] : [secrets.open(sealedPurpose.webhookSecondSecret(projectId), secondSecret)];
  const isSecondOver = (nowMs: number) => secondSecretUntil !== null && secondSecretUntil.getTime() <= nowMs;
  return {
    // A second secret alone verifies nothing: without a first, the project has chosen not to verify.
    accepted: (nowMs) => (first.length === 0 ? [] : isSecondOver(nowMs) ? first : [...first, ...second]),
    ended: (nowMs) => (isSecondOver(nowMs) ? second : []),
  };
}
