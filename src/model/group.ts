import { revisionOf } from "../revision.ts";
import type { Page, PageRequest } from "./page.ts";

export interface Group {
  id: number;
  name: string;
  /** Labels that its projects may request; null: any. */
  labels: string[] | null;
  createdAt: Date;
}

export function groupRevision({ name, labels }: Group): string {
  return revisionOf({ name, labels });
}

export interface GroupKeeper {
  create(group: { name: string; labels?: string[] | null; createdAt: Date }): Promise<Group>;
  byId(id: number): Promise<Group | null>;
  /** Reads the current row and locks it until the transaction ends. */
  hold(id: number): Promise<Group | null>;
  list(filter: { ids?: number[] }, page: PageRequest): Promise<Page<Group>>;
  update(id: number, change: Partial<Pick<Group, "name" | "labels">>): Promise<Group | null>;
  /** False when it does not exist. Projects of the group stay, without a group. */
  delete(id: number): Promise<boolean>;
}
