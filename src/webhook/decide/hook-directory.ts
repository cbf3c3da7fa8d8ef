import { BoundedMap } from "../../bounded-map.ts";
import { Fault } from "../../errors.ts";
import type { Project } from "../../model/project.ts";
import { sealedPurpose } from "../../model/sealed.ts";
import type { Store } from "../../model/store.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import type { Secrets } from "../../secrets.ts";
import { type Rules, rulesOf } from "./rules.ts";

/** A project's webhook, ready to judge by. */
export interface Hook {
  config: WebhookConfig;
  project: Project;
  /** Of the store, when it was read; null: it has to be looked at again. */
  version: number | null;
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
  /** The cached hook, which may be outdated; null when it is not cached. */
  remembered(key: string): Hook | null;
  /**
   * The hook as stored now, read through `keepers` if given; keeps the same `config` object if unchanged. Null, and removed
   * from the cache, when the key or project no longer exists.
   */
  current(hook: Hook, keepers?: HookKeepers): Promise<Hook | null>;
  hookOf(config: WebhookConfig, project: Project): Hook;
}

const maxHooks = 10_000;

type HookKeepers = Pick<Store, "webhookConfigs" | "projects">;

export interface HookDirectoryOptions {
  store: HookKeepers & Pick<Store, "version">;
  secrets: Secrets;
  /** webhook.debounceSeconds, for projects that set none. */
  debounceSeconds: number;
}

export function buildHookDirectory({ store, secrets, debounceSeconds }: HookDirectoryOptions): HookDirectory {
  const hooks = new BoundedMap<string, Hook>(maxHooks);

  const hookOf = (config: WebhookConfig, project: Project, version: number | null = null): Hook => {
    let opened: HookSecrets | null = null;
    return {
      config,
      project,
      version,
      rules: rulesOf(config, debounceSeconds),
      secrets() {
        opened ??= openSecrets(config, secrets);
        return opened;
      },
    };
  };

  /** What was opened and compiled of `earlier` is kept while its configuration is the same. */
  async function read(
    key: string,
    earlier: Hook | undefined,
    { webhookConfigs, projects }: HookKeepers,
  ): Promise<Hook | null> {
    // Taken before the first read: a change during it makes the hook old, never the other way round.
    const version = store.version();
    const config = await webhookConfigs.byKey(key);
    const project = config === null ? null : await projects.byId(config.projectId);
    hooks.delete(key);
    if (config === null || project === null) return null;
    const isSame = earlier?.config.updatedAt.getTime() === config.updatedAt.getTime();
    const hook = earlier && isSame ? { ...earlier, project, version } : hookOf(config, project, version);
    hooks.set(key, hook);
    return hook;
  }

  return {
    async byKey(key) {
      const known = hooks.get(key);
      return known && (known.version === null || known.version === store.version())
        ? known
        : read(key, known, store);
    },
    remembered: (key) => hooks.get(key) ?? null,
    async current(hook, keepers = store) {
      const { key } = hook.config;
      // Without a key it was never enabled, and no delivery is judged by it.
      if (key === null || (hook.version !== null && hook.version === store.version())) return hook;
      return read(key, hook, keepers);
    },
    hookOf: (config, project) => hookOf(config, project),
  };
}

function openSecrets(config: WebhookConfig, secrets: Secrets): HookSecrets {
  const { projectId, secret, secondSecret, secondSecretUntil } = config;
  const first = opened(secrets, sealedPurpose.webhookSecret(projectId), secret);
  const second = opened(secrets, sealedPurpose.webhookSecondSecret(projectId), secondSecret);
  // A second secret alone verifies nothing: without a first, the project has chosen not to verify.
  const both = first.length === 0 ? [] : [...first, ...second];
  const isSecondOver = (nowMs: number) => secondSecretUntil !== null && secondSecretUntil.getTime() <= nowMs;
  return {
    accepted: (nowMs) => (isSecondOver(nowMs) ? first : both),
    ended: (nowMs) => (isSecondOver(nowMs) ? second : []),
  };
}

/** With an empty secret every sender could make a valid signature. */
function opened(secrets: Secrets, purpose: string, ciphertext: string | null): string[] {
  if (ciphertext === null) return [];
  const secret = secrets.open(purpose, ciphertext);
  if (secret === "") throw new Fault("internal", `The stored secret of ${purpose} is empty; save it again.`);
  return [secret];
}
