import type { Keepers } from "../../model/store.ts";
import { audit, projectOf } from "./context.ts";
import { memberBody, memberList, memberShape } from "./member.ts";
import { subjectOf } from "./projects.ts";
import { found, newApi, route } from "./route.ts";
import { idParams, json, jsonBody, noContent, pageQuery, slice, strict } from "./shape.ts";

const tags = ["projects"];

const listMembers = route({
  method: "get",
  path: "/projects/{id}/members",
  tags,
  summary: "List the members of a project",
  description: "Its own members. Members of its group have their permission too, and admins have every one.",
  access: { project: "view" },
  request: { params: idParams("id"), query: strict(pageQuery) },
  responses: { 200: json("One page of members.", memberList) },
});

const setMember = route({
  method: "put",
  path: "/projects/{id}/members/{userId}",
  tags,
  summary: "Add a member to a project, or change its permission",
  access: { project: "manage" },
  request: { params: idParams("id", "userId"), body: jsonBody(memberBody) },
  responses: { 200: json("The member.", memberShape) },
});

const removeMember = route({
  method: "delete",
  path: "/projects/{id}/members/{userId}",
  tags,
  summary: "Remove a member from a project",
  access: { project: "manage" },
  request: { params: idParams("id", "userId") },
  responses: { 204: noContent },
});

export function projectMembersApi({ permissions, users }: Pick<Keepers, "permissions" | "users">) {
  return newApi()
    .openapi(listMembers, async (c) => {
      const members = await permissions.membersOfProject(projectOf(c).id);
      return c.json(slice(members, c.req.valid("query")), 200);
    })
    .openapi(setMember, async (c) => {
      const project = projectOf(c);
      const { userId } = c.req.valid("param");
      const { permission } = c.req.valid("json");
      const { username } = found(await users.byId(userId), `user ${userId}`);
      await permissions.setProjectMember(project.id, userId, permission);
      c.var.consoleAccess.permissionsChanged([userId]);
      await audit(c, {
        action: "project.set-member",
        subject: subjectOf(project),
        projectId: project.id,
        detail: { username, permission },
      });
      return c.json({ userId, username, permission }, 200);
    })
    .openapi(removeMember, async (c) => {
      const project = projectOf(c);
      const { userId } = c.req.valid("param");
      const wasMember = await permissions.removeProjectMember(project.id, userId);
      found(wasMember || null, `member ${userId} of project ${project.name}`);
      c.var.consoleAccess.permissionsChanged([userId]);
      await audit(c, {
        action: "project.remove-member",
        subject: subjectOf(project),
        projectId: project.id,
        detail: { userId },
      });
      return c.body(null, 204);
    });
}
