import { BoundedMap } from "../../bounded-map.ts";
import type { Project } from "../../model/project.ts";
import type { Keepers } from "../../model/store.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import type { Secrets } from "../../secrets.ts";
import { type Rules, rulesOf } from "./compiled-rules.ts";
import { type HookSecrets, openSecrets } from "./hook-secrets.ts";

/** A webhook configuration with the installation's debounce window where it sets none. */
export type HookConfig = WebhookConfig & { debounceSeconds: number };

/** A project's webhook, prepared for decisions. */
export interface Hook {
  config: HookConfig;
  project: Project;
  rules: Rules;
  /**
   * Decrypted at the first use. Throws if a stored secret cannot be decrypted: that is a failure, never "no secret".
   */
  secrets(): HookSecrets;
}

const maxHooks = 10_000;

export interface HookDirectoryOptions {
  store: Pick<Keepers, "webhookConfigs" | "projects">;
  secrets: Secrets;
  /** webhook.debounceSeconds, for projects that set none. */
  debounceSeconds: number;
}

/**
 * Hooks by their key, cached so that a delivery costs no query and no decryption for its configuration. They may be
 * outdated: acceptDelivery compares their version with the database, and a refusal is based on `current`.
 */
export function buildHookDirectory({ store, secrets, debounceSeconds }: HookDirectoryOptions) {
  const hooks = new BoundedMap<string, Hook>(maxHooks);

  const hookOf = (saved: WebhookConfig, project: Project): Hook => {
    const config = { ...saved, debounceSeconds: saved.debounceSeconds ?? debounceSeconds };
    let opened: HookSecrets | null = null;
    return {
      config,
      project,
      rules: rulesOf(config),
      secrets() {
        opened ??= openSecrets(config, secrets);
        return opened;
      },
    };
  };

  /** Decrypted and compiled values of `earlier` are reused while its configuration is the same. */
  async function read(key: string, earlier: Hook | undefined): Promise<Hook | null> {
    const config = await store.webhookConfigs.byKey(key);
    const project = config === null ? null : await store.projects.byId(config.projectId);
    hooks.delete(key);
    if (config === null || project === null) return null;
    const isSame = earlier?.config.updatedAt.getTime() === config.updatedAt.getTime();
    const hook = earlier && isSame ? { ...earlier, project } : hookOf(config, project);
    hooks.set(key, hook);
    return hook;
  }

  return {
    byKey: async (key: string) => hooks.get(key) ?? read(key, undefined),
    /**
     * The hook as stored now, with the same `config` object if it is unchanged. Null if the key or the project no
     * longer exists.
     */
    async current(hook: Hook): Promise<Hook | null> {
      const { key } = hook.config;
      // A hook without a key was never enabled, so it receives no deliveries.
      return key === null ? hook : read(key, hook);
    },
    hookOf,
  };
}
export type HookDirectory = ReturnType<typeof buildHookDirectory>;
