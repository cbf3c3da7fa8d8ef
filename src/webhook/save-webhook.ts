import type { AuditEntry } from "../model/audit.ts";
import { operation } from "../model/store.ts";
import type { WebhookConfig } from "../model/webhook-config.ts";

interface WebhookSave {
  /** Version of the configuration that `after` was made from; null: there was none. */
  before: Date | null;
  after: WebhookConfig;
  audited: Omit<AuditEntry, "id"> | null;
}

/** False: another save came first, so that `after` has to be made anew. */
export const saveWebhook = operation(
  "saveWebhook",
  async (keepers, { before, after, audited }: WebhookSave): Promise<boolean> => {
    // The project, which is there before its configuration is.
    await keepers.projects.hold(after.projectId);
    const current = await keepers.webhookConfigs.ofProject(after.projectId);
    if (current?.updatedAt.getTime() !== before?.getTime()) return false;
    await keepers.webhookConfigs.save(after);
    // To enable a webhook again builds nothing that was pushed meanwhile.
    if (!after.enabled) await keepers.polls.forget(after.projectId);
    if (audited !== null) await keepers.audit.add(audited);
    return true;
  },
);
