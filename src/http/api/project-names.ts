import type { Keepers } from "../../model/store.ts";
import { callerOf } from "./context.ts";
import { newApi, routesOf } from "./route.ts";
import { id, ownPermission, text } from "./scalars.ts";
import { json, listJson, listOf, onlyGiven, pageQuery, strict, z } from "./shape.ts";

const route = routesOf("projects");

const listNames = route("get", "/project-names", {
  summary: "List the names of projects",
  description: "By name, without their settings: for choices and for long lists.",
  access: "signed-in",
  request: {
    query: strict({
      ...pageQuery,
      search: text(100).optional().openapi({ description: "Part of the name." }),
    }),
  },
  responses: {
    200: json(
      "One page of names.",
      listOf(z.object({ id, name: z.string(), permission: ownPermission }), "ProjectNames"),
    ),
  },
});

export function projectNamesApi({ projects }: Pick<Keepers, "projects">) {
  return newApi().openapi(listNames, async (c) => {
    const { page, pageSize, search } = c.req.valid("query");
    const caller = callerOf(c);
    const ids = await c.var.permissions.visibleProjectIds(caller);
    const permissionOn = await c.var.permissions.permissionsOn("project", caller);
    const list = await projects.list(onlyGiven({ search, ids }), { page, pageSize });
    return c.json(
      listJson(list, ({ id: projectId, name }) => ({
        id: projectId,
        name,
        permission: permissionOn(projectId),
      })),
      200,
    );
  });
}
