import { operation } from "../../model/store.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";

/** Name of the value that the database remembers of its key. */
export const checkName = "encryption-key-check";

/** Answers the value by which the database knows its key; the first caller's becomes it. */
export const keepKeyCheck = operation(
  "keepKeyCheck",
  async ({ meta }, { sealed }: { sealed: string }): Promise<string> => {
    const kept = await meta.get(checkName);
    if (kept === null) await meta.set(checkName, sealed);
    return kept ?? sealed;
  },
);

/** Every sealed value of the database under another key. */
export interface Resealed {
  projectSecrets: { projectId: number; name: string; ciphertext: string }[];
  webhookConfigs: WebhookConfig[];
  check: string;
}

/** Replaces all sealed values, or none. */
export const replaceSealed = operation(
  "replaceSealed",
  async (keepers, { projectSecrets, webhookConfigs, check }: Resealed): Promise<void> => {
    for (const { projectId, name, ciphertext } of projectSecrets)
      await keepers.projects.setSecret(projectId, name, ciphertext);
    for (const config of webhookConfigs) await keepers.webhookConfigs.save(config);
    await keepers.meta.set(checkName, check);
  },
);
