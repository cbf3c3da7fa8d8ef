import type { Page, PageRequest } from "./page.ts";

/** Who changed what, when and from where. `detail` never contains a secret. */
export interface AuditEntry {
  id: number;
  at: Date;
  userId: number | null;
  username: string;
  /** noun.verb: webhook.save, webhook.reset-key, delivery.replay, user.create… */
  action: string;
  projectId: number | null;
  /** The thing changed, for people: "project shop", "user ann". */
  subject: string;
  detail: Record<string, unknown>;
  remoteIp: string;
}

export interface AuditFilter {
  userId?: number;
  projectId?: number;
  action?: string;
  from?: Date;
  to?: Date;
}

export interface AuditKeeper {
  add(entry: Omit<AuditEntry, "id">): Promise<void>;
  list(filter: AuditFilter, page: PageRequest): Promise<Page<AuditEntry>>;
}
