import { z } from "zod";
import { label, lineText } from "../reason/schema-forms.ts";
import { revisionOf } from "../revision.ts";
import type { Page, PageRequest } from "./page.ts";
import { allowedDomains } from "./service/route.ts";
import type { SecretKeeper } from "./settings/stored-secret.ts";
import { variables } from "./settings/variables.ts";

/** What users set. The body and the answer of the API derive from it. */
export const groupSettings = z.object({
  name: lineText,
  labels: z
    .array(label)
    .max(32)
    .nullable()
    .meta({ description: "Labels that its projects may request; null: any." }),
  allowedDomains,
  env: variables.meta({ description: "Variables that the scripts of all its projects get." }),
});

export const groupSchema = groupSettings.extend({ id: z.number().int(), createdAt: z.date() });
export type Group = z.infer<typeof groupSchema>;

export function groupRevision({ name, labels, allowedDomains, env }: Group): string {
  // The revision of a group without domains and variables stays what it was before they existed.
  return revisionOf({
    ...{ name, labels },
    ...(allowedDomains === null ? {} : { allowedDomains }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
  });
}

export interface GroupKeeper extends SecretKeeper {
  create(group: Pick<Group, "name" | "createdAt"> & Partial<Group>): Promise<Group>;
  byId(id: number): Promise<Group | null>;
  /** Reads the current row and locks it until the transaction ends. */
  hold(id: number): Promise<Group | null>;
  list(filter: { ids?: number[] }, page: PageRequest): Promise<Page<Group>>;
  update(id: number, change: Partial<z.infer<typeof groupSettings>>): Promise<Group | null>;
  /** False when it does not exist. Projects of the group stay, without a group. */
  delete(id: number): Promise<boolean>;
}
