import type { Project } from "../../model/project.ts";
import type { Keepers } from "../../model/store.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import type { Secrets } from "../../secrets.ts";
import { type HookSecrets, openSecrets } from "./hook-secrets.ts";

/** A project's webhook as it was read. */
export interface Hook {
  config: WebhookConfig;
  project: Project;
  /** How long the database took to answer it: a stalled one holds up the project's lock as well. */
  waitedMs: number;
  /** Throws if a stored secret cannot be decrypted: that is a failure, never "no secret". */
  secrets(): HookSecrets;
}

export interface HooksOptions {
  store: Pick<Keepers, "webhookConfigs">;
  secrets: Secrets;
}

export function buildHooks({ store, secrets }: HooksOptions) {
  const hookOf = (config: WebhookConfig, project: Project, waitedMs = 0): Hook => ({
    config,
    project,
    waitedMs,
    secrets: () => openSecrets(config, secrets),
  });
  return {
    hookOf,
    /** Read for each delivery, so that what was saved at another server is in force at once. */
    async byKey(key: string): Promise<Hook | null> {
      const startedAtMs = performance.now();
      const found = await store.webhookConfigs.byKey(key);
      return found && hookOf(found.config, found.project, performance.now() - startedAtMs);
    },
  };
}
export type Hooks = ReturnType<typeof buildHooks>;
