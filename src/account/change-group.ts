import { differencesOf, type NewAuditEntry } from "../model/audit.ts";
import { type Group, groupRevision } from "../model/group.ts";
import { operation } from "../model/store.ts";
import { existing, refuseIfChanged } from "../revision.ts";

interface GroupChange {
  id: number;
  ifMatch?: string | undefined;
  change: Partial<Pick<Group, "name" | "labels" | "allowedDomains">>;
  /** The entry that is stored with the change; subject and detail follow from the group. */
  audited: NewAuditEntry;
}

export const changeGroup = operation(
  "changeGroup",
  async ({ groups, audit }, { id, ifMatch, change, audited }: GroupChange): Promise<Group> => {
    const before = existing(await groups.hold(id), "group", id);
    refuseIfChanged(ifMatch, groupRevision(before), "group");
    const after = existing(await groups.update(id, change), "group", id);
    const detail = { ...change, ...differencesOf(before, change) };
    await audit.add({ ...audited, subject: `group ${before.name}`, detail });
    return after;
  },
);
