import { revisionOf } from "../revision.ts";
import type { Page, PageRequest } from "./page.ts";

export interface Group {
  id: number;
  name: string;
  /** Labels that its projects may request; null: any. */
  labels: string[] | null;
  /** Domains that the routes of its projects may have: names, or `*.` and a name; null: nobody has said. */
  allowedDomains: string[] | null;
  createdAt: Date;
}

export function groupRevision({ name, labels, allowedDomains }: Group): string {
  // The revision of a group without domains stays what it was before they existed.
  return revisionOf({ name, labels, ...(allowedDomains === null ? {} : { allowedDomains }) });
}

export interface GroupKeeper {
  create(group: Pick<Group, "name" | "createdAt"> & Partial<Group>): Promise<Group>;
  byId(id: number): Promise<Group | null>;
  /** Reads the current row and locks it until the transaction ends. */
  hold(id: number): Promise<Group | null>;
  list(filter: { ids?: number[] }, page: PageRequest): Promise<Page<Group>>;
  update(
    id: number,
    change: Partial<Pick<Group, "name" | "labels" | "allowedDomains">>,
  ): Promise<Group | null>;
  /** False when it does not exist. Projects of the group stay, without a group. */
  delete(id: number): Promise<boolean>;
}
