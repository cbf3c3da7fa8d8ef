import type { Keepers } from "../../model/store.ts";
import { callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { id, ownPermission, text } from "./scalars.ts";
import { json, listJson, listOf, onlyGiven, pageQuery, z } from "./shape.ts";

const route = routesOf("projects");

const listNames = route("get", "/project-names", {
  summary: "List the names of projects",
  description: "By name, without their settings: for choices and for long lists.",
  access: "signed-in",
  query: {
    ...pageQuery,
    search: text(100).optional().openapi({ description: "Part of the name." }),
  },
  ok: json(
    "One page of names.",
    listOf(z.object({ id, name: z.string(), permission: ownPermission }), "ProjectNames"),
  ),
});

/** Names of the projects of these items; empty: the project is gone. */
export async function projectNameOf(
  search: Keepers["search"],
  items: { projectId: number }[],
): Promise<(projectId: number) => string> {
  const names = await search.names([...new Set(items.map(({ projectId }) => projectId))]);
  const nameOf = new Map(names.map(({ id: projectId, name }) => [projectId, name]));
  return (projectId) => nameOf.get(projectId) ?? "";
}

export function projectNamesApi({ store: { projects } }: ApiDeps) {
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
