import { changeGroup } from "../../account/change-group.ts";
import { actsAsAdmin } from "../../account/permissions.ts";
import { Fault } from "../../errors.ts";
import { type Group, groupRevision } from "../../model/group.ts";
import type { Permission } from "../../model/permission.ts";
import { newReason } from "../../reason/reason.ts";
import { existing } from "../../revision.ts";
import { auditEntry, audited, callerOf, groupOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { mayAllowDomains } from "./project-limits.ts";
import { allowedDomains } from "./project-shape.ts";
import { revision, tagged, withTag } from "./revision.ts";
import { newApi, routesOf } from "./route.ts";
import { label } from "./runners.ts";
import { name, ownPermission, time } from "./scalars.ts";
import { json, jsonOf, listJson, listOf, onlyGiven, pageQuery, strict, z } from "./shape.ts";

const route = routesOf("groups");

const groupShape = z
  .object({
    id: z.number().int(),
    name: z.string().openapi({ example: "Shop" }),
    permission: ownPermission,
    revision,
    labels: z
      .array(z.string())
      .nullable()
      .openapi({ description: "Labels that its projects may request; null: any." }),
    allowedDomains,
    createdAt: time,
  })
  .openapi("Group");

const labels = z.array(label).max(32).nullable();

const listGroups = route("get", "/groups", {
  summary: "List groups",
  description: "Those that the caller is a member of; all for an admin.",
  access: "signed-in",
  query: pageQuery,
  ok: json("One page of groups.", listOf(groupShape, "GroupList")),
});

const createGroup = route("post", "/groups", {
  summary: "Add a group",
  access: "admin",
  body: strict({ name, labels: labels.default(null), allowedDomains: allowedDomains.default(null) }),
  created: json("The new group.", groupShape),
});

const getGroup = route("get", "/groups/{id}", {
  summary: "One group",
  access: { group: "view" },
  ok: tagged("The group.", groupShape),
});

const updateGroup = route("patch", "/groups/{id}", {
  summary: "Change a group",
  description:
    "Its name, and for administrators the labels that its projects may request, and the domains of their routes.",
  access: { group: "manage" },
  body: strict({
    name: name.optional(),
    labels: labels.optional(),
    allowedDomains: allowedDomains.optional(),
  }),
  ok: tagged("The group as it is now.", groupShape),
});

const deleteGroup = route("delete", "/groups/{id}", {
  summary: "Delete a group",
  description: "Its projects stay, without a group; permissions that came through it end.",
  access: "admin",
});

export function groupsApi({ store, clock }: ApiDeps) {
  const { groups, permissions } = store;
  return newApi()
    .openapi(listGroups, async (c) => {
      const ids = await c.var.permissions.visibleGroupIds(callerOf(c));
      const permissionOn = await c.var.permissions.permissionsOn("group", callerOf(c));
      const list = await groups.list(onlyGiven({ ids }), c.req.valid("query"));
      return c.json(
        listJson(list, (group) => groupJson(group, permissionOn(group.id))),
        200,
      );
    })
    .openapi(createGroup, async (c) => {
      const body = c.req.valid("json");
      const { name, labels, allowedDomains: domains } = body;
      const entry = {
        action: "group.create",
        subject: `group ${name}`,
        detail: { labels, allowedDomains: domains },
      };
      const group = await audited(c, entry).groups.create({ ...body, createdAt: new Date(clock.now()) });
      return c.json(groupJson(group, "manage"), 201);
    })
    .openapi(getGroup, async (c) => {
      const group = groupOf(c);
      const permissionOn = await c.var.permissions.permissionsOn("group", callerOf(c));
      return c.json(withTag(c, groupJson(group, permissionOn(group.id))), 200);
    })
    .openapi(updateGroup, async (c) => {
      const before = groupOf(c);
      const change = onlyGiven(c.req.valid("json"));
      mayAllowDomains(c, before.allowedDomains, change.allowedDomains);
      if (change.labels !== undefined && !actsAsAdmin(callerOf(c)))
        throw new Fault("forbidden", newReason("admins_only_labels"));
      const isRename = change.labels === undefined && change.allowedDomains === undefined;
      const action = isRename ? "group.rename" : "group.update";
      const group = await store.run(changeGroup, {
        id: before.id,
        ifMatch: c.req.valid("header")["if-match"],
        change,
        audited: auditEntry(c, { action, subject: "" }),
      });
      return c.json(withTag(c, groupJson(group, "manage")), 200);
    })
    .openapi(deleteGroup, async (c) => {
      const { id } = c.req.valid("param");
      const group = existing(await groups.byId(id), "group", id);
      const members = await permissions.members({ noun: "group", id });
      await audited(c, { action: "group.delete", subject: `group ${group.name}` }).groups.delete(id);
      c.var.consoleAccess.permissionsChanged(members.map((member) => member.userId));
      return c.body(null, 204);
    });
}

function groupJson(group: Group, permission: Permission) {
  return jsonOf(groupShape, { ...group, permission, revision: groupRevision(group) });
}
