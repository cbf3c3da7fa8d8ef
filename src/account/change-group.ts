import { differencesOf, type NewAuditEntry } from "../model/audit.ts";
import { type Group, groupRevision, type groupSettings } from "../model/group.ts";
import { operation } from "../model/store.ts";
import { existing, refuseIfChanged } from "../revision.ts";

interface GroupChange {
  id: number;
  ifMatch?: string | undefined;
  change: Partial<Pick<Group, keyof typeof groupSettings.shape>>;
  /** The entry that is stored with the change; subject and detail follow from the group. */
  audited: NewAuditEntry;
}

export const changeGroup = operation(
  "changeGroup",
  async ({ groups, audit }, { id, ifMatch, change, audited }: GroupChange): Promise<Group> => {
    const before = existing(await groups.hold(id), "group", id);
    refuseIfChanged(ifMatch, groupRevision(before), "group");
    const after = existing(await groups.update(id, change), "group", id);
    const fields = Object.keys(differencesOf(before, change).to);
    // Variables may contain secrets.
    const { env: _env, ...shown } = change;
    const detail = { fields, ...shown, ...differencesOf(before, shown) };
    await audit.add({ ...audited, subject: `group ${before.name}`, groupId: id, detail });
    return after;
  },
);

interface GroupDeletion {
  id: number;
  /** The entry about the group. Each of its projects gets one of its own too: it loses what the group had. */
  audited: NewAuditEntry;
}

const projectsPerPage = 200;

/** Deletes a group. Returns the users whose permissions may have ended. */
export const deleteGroup = operation(
  "deleteGroup",
  async ({ groups, projects, permissions, audit }, { id, audited }: GroupDeletion): Promise<number[]> => {
    const group = existing(await groups.hold(id), "group", id);
    const members = await permissions.members({ noun: "group", id });
    const detail = { fields: ["groupId"], from: { groupId: id }, to: { groupId: null } };
    for (let page = 1; ; page++) {
      const { items } = await projects.list({ groupId: id }, { page, pageSize: projectsPerPage });
      for (const project of items)
        await audit.add({
          ...{ ...audited, action: "project.update", detail },
          ...{ projectId: project.id, subject: `project ${project.name}` },
        });
      if (items.length < projectsPerPage) break;
    }
    await groups.delete(id);
    await audit.add({ ...audited, subject: `group ${group.name}` });
    return members.map(({ userId }) => userId);
  },
);
