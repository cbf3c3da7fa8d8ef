import type { Project } from "../../model/project.ts";
import type { Store } from "../../model/store.ts";
import { type ApiContext, callerOf } from "./context.ts";
import { projectJson, serviceSummary } from "./project-shape.ts";

/** Projects as the API answers them to the caller. What all of them need is read once. */
export async function writtenProjects(c: ApiContext, store: Store, projects: readonly Project[]) {
  const ids = projects.map(({ id }) => id);
  const namesOf = Map.groupBy(await store.projects.secretNames(ids), ({ ownerId }) => ownerId);
  const servicesOf = Map.groupBy(await store.services.ofProjects(ids), ({ projectId }) => projectId);
  const permissionOn = await c.var.permissions.permissionsOn("project", callerOf(c));
  const now = store.now();
  return projects.map((project) =>
    projectJson(
      project,
      namesOf.get(project.id) ?? [],
      permissionOn(project.id),
      serviceSummary(servicesOf.get(project.id) ?? [], now),
    ),
  );
}

export async function writtenProject(c: ApiContext, store: Store, project: Project) {
  const [written] = await writtenProjects(c, store, [project]);
  if (written === undefined) throw new Error("A project was not written.");
  return written;
}
