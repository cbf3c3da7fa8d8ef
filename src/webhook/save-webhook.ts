import type { AuditEntry } from "../model/audit.ts";
import { operation } from "../model/store.ts";
import type { WebhookConfig } from "../model/webhook-config.ts";

interface WebhookSave {
  /** Version of the configuration that `after` is based on; null: there was none. */
  before: Date | null;
  after: WebhookConfig;
  audited: Omit<AuditEntry, "id"> | null;
}

/** False: another save was stored first, so `after` must be built again. */
export const saveWebhook = operation(
  "saveWebhook",
  async (keepers, { before, after, audited }: WebhookSave): Promise<boolean> => {
    // The project; it exists before its configuration does.
    await keepers.projects.hold(after.projectId);
    const current = await keepers.webhookConfigs.ofProject(after.projectId);
    if (current?.updatedAt.getTime() !== before?.getTime()) return false;
    await keepers.webhookConfigs.save(after);
    // Enabling a webhook again does not build earlier pushes.
    if (!after.enabled) await keepers.polls.forget(after.projectId);
    if (audited !== null) await keepers.audit.add(audited);
    return true;
  },
);
