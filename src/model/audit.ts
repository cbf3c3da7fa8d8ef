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
  /** Of a change of the variables or secrets of a group. */
  groupId: number | null;
  /** The thing changed, for people: "project shop", "user ann". */
  subject: string;
  detail: Record<string, unknown>;
  remoteIp: string;
}

export type NewAuditEntry = Omit<AuditEntry, "id" | "groupId"> & Partial<Pick<AuditEntry, "groupId">>;

/** An entry about a task; the caller has filled in everything else. */
export function entryOfTask(
  entry: NewAuditEntry,
  { id, projectId }: { id: number; projectId: number },
): NewAuditEntry {
  return { ...entry, subject: `task ${id}`, projectId };
}

/** The earlier and the new values of a change, for `detail`; fields that stay the same are left out. */
export function differencesOf<T extends object>(
  before: T,
  change: Partial<T>,
): { from: Partial<T>; to: Partial<T> } {
  const names = (Object.keys(change) as (keyof T)[]).filter((name) => !isSame(before[name], change[name]));
  const pick = (values: Partial<T>) =>
    Object.fromEntries(names.map((name) => [name, values[name] ?? null])) as Partial<T>;
  return { from: pick(before), to: pick(change) };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export interface AuditFilter {
  userId?: number;
  projectId?: number;
  action?: string;
  from?: Date;
  to?: Date;
}

/** A change of a project, or of its group, by a user. */
export type UserChange = Pick<AuditEntry, "id" | "username" | "action" | "detail"> & { userId: number };

export interface AuditKeeper {
  add(entry: NewAuditEntry): Promise<void>;
  list(filter: AuditFilter, page: PageRequest): Promise<Page<AuditEntry>>;
  /** The id of the newest entry; 0: there is none. */
  lastId(): Promise<number>;
  /** What users changed after an entry or since a time. Of equal changes of a user, the first one. */
  changesOf(
    of: { projectIds: readonly number[]; groupId: number | null },
    actions: readonly string[],
    since: { afterId: number } | { from: Date },
  ): Promise<UserChange[]>;
}
