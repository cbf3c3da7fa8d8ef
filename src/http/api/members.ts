import type { Needed } from "../../account/permissions.ts";
import { accessSchema, type MemberOwner, memberSchema, type Permission } from "../../model/permission.ts";
import type { Keepers } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";
import { existing } from "../../revision.ts";
import { type ApiContext, audited, groupOf, projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { found, newApi, routesOf } from "./route.ts";
import { permission } from "./scalars.ts";
import { json, listOf, pageQuery, slice, strict, z } from "./shape.ts";

const memberShape = z.object(memberSchema.shape).openapi("Member");

const memberList = listOf(memberShape, "MemberList");

const accessShape = z.object(accessSchema.shape).openapi("ProjectAccess");

const about: Record<MemberOwner["noun"], { list?: { description: string }; set?: { description: string } }> =
  {
    project: {
      list: {
        description:
          "Its own members. Members of its group have their permission too, and admins have every one: see /projects/{id}/access.",
      },
    },
    group: { set: { description: "The permission holds for every project of the group." } },
  };

const listAccess = routesOf("projects")("get", "/projects/{id}/access", {
  summary: "List everybody who has access to a project, and why",
  description: "Its members, the members of its group, and the administrators, each with every reason.",
  access: { project: "view" },
  query: pageQuery,
  ok: json("One page of users.", listOf(accessShape, "ProjectAccessList")),
});

/** Who has access to a project, whatever the reason. */
export function accessApi({ store: { permissions } }: ApiDeps) {
  return newApi().openapi(listAccess, async (c) => {
    const access = await permissions.accessTo(projectOf(c).id);
    return c.json(slice(access, c.req.valid("query")), 200);
  });
}

/** Members of a project or of a group: who may view it, who may manage it. */
export function membersApi(noun: MemberOwner["noun"], { store: { permissions, users } }: ApiDeps) {
  const isProject = noun === "project";
  const ownerOf = isProject ? projectOf : groupOf;
  const route = routesOf(`${noun}s`);
  const path = `/${noun}s/{id}/members` as const;
  const memberPath = `${path}/{userId}` as const;
  const access = (needed: Permission): Needed => (isProject ? { project: needed } : { group: needed });
  const listMembers = route("get", path, {
    summary: `List the members of a ${noun}`,
    ...about[noun].list,
    access: access("view"),
    query: pageQuery,
    ok: json("One page of members.", memberList),
  });
  const setMember = route("put", memberPath, {
    summary: `Add a member to a ${noun}, or change its permission`,
    ...about[noun].set,
    access: access("manage"),
    body: strict({ permission }),
    ok: json("The member.", memberShape),
  });
  const removeMember = route("delete", memberPath, {
    summary: `Remove a member from a ${noun}`,
    access: access("manage"),
  });

  return newApi()
    .openapi(listMembers, async (c) => {
      const members = await permissions.members({ noun, id: ownerOf(c).id });
      return c.json(slice(members, c.req.valid("query")), 200);
    })
    .openapi(setMember, async (c) => {
      const { id } = ownerOf(c);
      const { userId } = c.req.valid("param");
      const { permission } = c.req.valid("json");
      const { username } = existing(await users.byId(userId), "user", userId);
      const change = noted(c, "set-member", { username, permission });
      await change.permissions.setMember({ noun, id }, userId, permission);
      c.var.consoleAccess.permissionsChanged([userId]);
      return c.json({ userId, username, permission }, 200);
    })
    .openapi(removeMember, async (c) => {
      const { id, name } = ownerOf(c);
      const { userId } = c.req.valid("param");
      const change = noted(c, "remove-member", { userId });
      const wasMember = await change.permissions.removeMember({ noun, id }, userId);
      const missing = newReason("no_member", { id: userId, noun: newReason(`noun_${noun}`), name });
      found(wasMember || null, missing);
      c.var.consoleAccess.permissionsChanged([userId]);
      return c.body(null, 204);
    });

  function noted(c: ApiContext, act: string, detail: Record<string, unknown>): Keepers {
    const { id, name } = ownerOf(c);
    const projectId = isProject ? id : null;
    return audited(c, { action: `${noun}.${act}`, subject: `${noun} ${name}`, projectId, detail });
  }
}
