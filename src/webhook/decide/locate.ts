import { BoundedMap } from "../../bounded-map.ts";
import { Fault } from "../../errors.ts";
import { gitHostOf } from "../../git-host/hosts.ts";
import { keptHeaders } from "../../git-host/kept-headers.ts";
import { hostDeliveryIdOf } from "../../git-host/read-event.ts";
import type { Project } from "../../model/project.ts";
import { sealedPurpose } from "../../model/sealed.ts";
import type { Keepers } from "../../model/store.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import type { Secrets } from "../../secrets.ts";
import type { DeliveryRequest, HookConfig, PendingDelivery } from "./delivery.ts";
import { type Rules, rulesOf } from "./rules.ts";

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

export interface HookSecrets {
  /** Secrets accepted at `nowMs`; empty: nothing is verified. */
  accepted(nowMs: number): string[];
  /** Secrets that have expired. */
  ended(nowMs: number): string[];
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

function openSecrets(config: WebhookConfig, secrets: Secrets): HookSecrets {
  const { projectId, secret, secondSecret, secondSecretUntil } = config;
  const first = opened(secrets, sealedPurpose.webhookSecret(projectId), secret);
  const second = opened(secrets, sealedPurpose.webhookSecondSecret(projectId), secondSecret);
  // A second secret alone verifies nothing: without a first one, the project has chosen not to verify.
  const both = first.length === 0 ? [] : [...first, ...second];
  const isSecondOver = (nowMs: number) => secondSecretUntil !== null && secondSecretUntil.getTime() <= nowMs;
  return {
    accepted: (nowMs) => (isSecondOver(nowMs) ? first : both),
    ended: (nowMs) => (isSecondOver(nowMs) ? second : []),
  };
}

/** With an empty secret, every sender could create a valid signature. */
function opened(secrets: Secrets, purpose: string, ciphertext: string | null): string[] {
  if (ciphertext === null) return [];
  const secret = secrets.open(purpose, ciphertext);
  if (secret === "") throw new Fault("internal", `The stored secret of ${purpose} is empty; save it again.`);
  return [secret];
}

/** Completes a delivery with the project that its address belongs to. */
export function located(hook: Hook, request: DeliveryRequest, delivery: PendingDelivery): PendingDelivery {
  const host = gitHostOf(hook.config.provider);
  const { headers } = request;
  return {
    ...delivery,
    ...projectOf(hook),
    headers: keptHeaders(headers, host),
    hostDeliveryId: hostDeliveryIdOf(host, headers),
  };
}

export function projectOf({ config, project }: Hook) {
  return { projectId: project.id, projectName: project.name, provider: config.provider };
}
