import { changeGroup, deleteGroup as deleteGroupOperation } from "../../account/change-group.ts";
import { actsAsAdmin } from "../../account/permissions.ts";
import { Fault } from "../../errors.ts";
import { type Group, groupRevision, groupSettings } from "../../model/group.ts";
import { newReason } from "../../reason/reason.ts";
import { type ApiContext, auditEntry, audited, callerOf, groupOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { mayAllowDomains } from "./project-limits.ts";
import { revision, tagged, withTag } from "./revision.ts";
import { newApi, routesOf } from "./route.ts";
import { ownPermission, time } from "./scalars.ts";
import { secretsJson, secretsShape } from "./secret-shape.ts";
import { json, jsonOf, listOf, onlyGiven, pageQuery, strict, z } from "./shape.ts";

const route = routesOf("groups");

const groupShape = z
  .object({
    id: z.number().int(),
    ...groupSettings.shape,
    secrets: secretsShape,
    permission: ownPermission,
    revision,
    createdAt: time,
  })
  .openapi("Group");

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
  body: strict({
    ...groupSettings.shape,
    labels: groupSettings.shape.labels.default(null),
    allowedDomains: groupSettings.shape.allowedDomains.default(null),
    env: groupSettings.shape.env.default({}),
  }),
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
    "Its name and its variables, `env`, which are replaced as a whole; for administrators also the labels that its projects may request, and the domains of their routes.",
  access: { group: "manage" },
  body: strict(groupSettings.shape).partial(),
  ok: tagged("The group as it is now.", groupShape),
});

const deleteGroup = route("delete", "/groups/{id}", {
  summary: "Delete a group",
  description: "Its projects stay, without a group; permissions that came through it end.",
  access: "admin",
});

export function groupsApi({ store, clock }: ApiDeps) {
  const { groups } = store;
  const writtenAll = async (c: ApiContext, items: Group[]) => {
    const permissionOn = await c.var.permissions.permissionsOn("group", callerOf(c));
    const secrets = await groups.secretNames(items.map(({ id }) => id));
    return items.map((group) =>
      jsonOf(groupShape, {
        ...group,
        secrets: secretsJson(secrets.filter(({ ownerId }) => ownerId === group.id)),
        permission: permissionOn(group.id),
        revision: groupRevision(group),
      }),
    );
  };
  const written = async (c: ApiContext, group: Group) => {
    const [shown] = await writtenAll(c, [group]);
    if (shown === undefined) throw new Error("A group was not written.");
    return shown;
  };
  return newApi()
    .openapi(listGroups, async (c) => {
      const ids = await c.var.permissions.visibleGroupIds(callerOf(c));
      const list = await groups.list(onlyGiven({ ids }), c.req.valid("query"));
      return c.json({ ...list, items: await writtenAll(c, list.items) }, 200);
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
      return c.json(await written(c, group), 201);
    })
    .openapi(getGroup, async (c) => {
      return c.json(withTag(c, await written(c, groupOf(c))), 200);
    })
    .openapi(updateGroup, async (c) => {
      const before = groupOf(c);
      const change = onlyGiven(c.req.valid("json"));
      mayAllowDomains(c, before.allowedDomains, change.allowedDomains);
      if (change.labels !== undefined && !actsAsAdmin(callerOf(c)))
        throw new Fault("forbidden", newReason("admins_only_labels"));
      const isRename = Object.keys(change).every((field) => field === "name");
      const action = isRename ? "group.rename" : "group.update";
      const group = await store.run(changeGroup, {
        id: before.id,
        ifMatch: c.req.valid("header")["if-match"],
        change,
        audited: auditEntry(c, { action, subject: "" }),
      });
      return c.json(withTag(c, await written(c, group)), 200);
    })
    .openapi(deleteGroup, async (c) => {
      const { id } = c.req.valid("param");
      const entry = auditEntry(c, { action: "group.delete", subject: "" });
      c.var.consoleAccess.permissionsChanged(await store.run(deleteGroupOperation, { id, audited: entry }));
      return c.body(null, 204);
    });
}
