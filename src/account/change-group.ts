import { Fault } from "../errors.ts";
import { differencesOf, type NewAuditEntry } from "../model/audit.ts";
import { type Group, groupRevision } from "../model/group.ts";
import { operation } from "../model/store.ts";
import { reasonText } from "../reason/reason.ts";
import { refuseIfChanged } from "../revision.ts";

interface GroupChange {
  id: number;
  ifMatch?: string | undefined;
  change: Partial<Pick<Group, "name" | "labels">>;
  /** The entry that is stored with the change; subject and detail follow from the group. */
  audited: NewAuditEntry;
}

export const changeGroup = operation(
  "changeGroup",
  async ({ groups, audit }, { id, ifMatch, change, audited }: GroupChange): Promise<Group> => {
    const before = await groups.hold(id);
    if (before) refuseIfChanged(ifMatch, groupRevision(before), "group");
    const after = before && (await groups.update(id, change));
    if (!after) throw new Fault("not_found", reasonText("none", { noun: "group", id }));
    const detail = { ...change, ...differencesOf(before, change) };
    await audit.add({ ...audited, subject: `group ${before.name}`, detail });
    return after;
  },
);
