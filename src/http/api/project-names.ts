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

/** The projects of these items by id; none: the project is gone. */
export async function namedProjects(search: Keepers["search"], items: { projectId: number }[]) {
  const named = await search.names([...new Set(items.map(({ projectId }) => projectId))]);
  return new Map(named.map((project) => [project.id, project]));
}

/** Names of the projects of these items; empty: the project is gone. */
export async function projectNameOf(
  search: Keepers["search"],
  items: { projectId: number }[],
): Promise<(projectId: number) => string> {
  const projects = await namedProjects(search, items);
  return (projectId) => projects.get(projectId)?.name ?? "";
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
