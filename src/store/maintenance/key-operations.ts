import { operation } from "../../model/store.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";

/** Name of the key check value in the database. */
export const keyCheckName = "encryption-key-check";

/** The key check value; null: there is none yet. */
export const readKeyCheck = operation("readKeyCheck", ({ meta }) => meta.get(keyCheckName));

/** Returns the key check value; the first caller's value is stored. */
export const keepKeyCheck = operation(
  "keepKeyCheck",
  async ({ meta }, { sealed }: { sealed: string }): Promise<string> => {
    const kept = await meta.get(keyCheckName);
    if (kept === null) await meta.set(keyCheckName, sealed);
    return kept ?? sealed;
  },
);

/** Every encrypted value of the database, encrypted with another key. */
export interface Resealed {
  projectSecrets: { projectId: number; name: string; ciphertext: string }[];
  groupSecrets: { groupId: number; name: string; ciphertext: string }[];
  webhookConfigs: WebhookConfig[];
  hostTokens: { id: number; ciphertext: string }[];
  sessions: { id: number; providerGrant: string }[];
  /** By name. */
  meta: Record<string, string>;
  check: string;
}

/** Replaces all sealed values, or none. */
export const replaceSealed = operation(
  "replaceSealed",
  async (
    keepers,
    { projectSecrets, groupSecrets, webhookConfigs, hostTokens, sessions, meta, check }: Resealed,
  ): Promise<void> => {
    for (const { projectId, name, ciphertext } of projectSecrets)
      await keepers.projects.setSecret(projectId, name, ciphertext);
    for (const { groupId, name, ciphertext } of groupSecrets)
      await keepers.groups.setSecret(groupId, name, ciphertext);
    for (const config of webhookConfigs) await keepers.webhookConfigs.save(config);
    for (const { id, ciphertext } of hostTokens) await keepers.hostTokens.setCiphertext(id, ciphertext);
    for (const { id, providerGrant } of sessions) await keepers.sessions.setGrant(id, { providerGrant });
    for (const [name, value] of Object.entries(meta)) await keepers.meta.set(name, value);
    await keepers.meta.set(keyCheckName, check);
  },
);
