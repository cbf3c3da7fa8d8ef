import { isChecked } from "../../model/pipeline.ts";
import type { Store } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { type TaskJson, taskJson } from "../../task/view/task-json.ts";
import { waitsOf } from "../../task/view/task-waits.ts";
import { namedProjects } from "./project-names.ts";
import { serviceSummary } from "./project-shape.ts";
import { onlyGiven } from "./shape.ts";
import type { Serves } from "./task-shape.ts";

/** Data that all queued tasks of a page share is read once, so that a page costs about as much as one task. */
export async function writtenTasks(store: Store, page: Task[]): Promise<TaskJson[]> {
  const now = store.now();
  const queued = page.filter(({ state, serviceAction }) => state === "queued" && serviceAction === null);
  const positions = queued.length === 0 ? {} : await store.tasks.positions(queued, now);
  const waitOf = await waitsOf(store, page, now);
  return page.map((task) => {
    const wait = waitOf(task);
    if (task.state !== "queued" || task.serviceAction !== null) return taskJson(task, onlyGiven({ wait }));
    return taskJson(task, onlyGiven({ queuePosition: positions[task.id] ?? 1, wait }));
  });
}

/** The form of tasks in lists. */
export async function listedTasks(store: Store, page: Task[]) {
  const named = await namedProjects(
    store.search,
    page.flatMap(({ projectId, deploys }) => [{ projectId }, ...(deploys === null ? [] : [deploys])]),
  );
  const environmentOf = (projectId: number) => environmentIn(named.get(projectId));
  const isLive = (task: { id: number; projectId: number }) =>
    named.get(task.projectId)?.liveTaskId === task.id;
  const serves = await servesOf(store, page.filter(isLive));
  return (await writtenTasks(store, page)).map((task) => ({
    ...task,
    projectName: named.get(task.projectId)?.name ?? "",
    environment: environmentOf(task.projectId),
    promotedFrom:
      task.deploys === null || task.deploys.projectId === task.projectId
        ? ""
        : environmentOf(task.deploys.projectId),
    isServing: isLive(task),
    serves: serves.get(task.id) ?? null,
  }));
}

/** The name of an environment, which is the last part of the name of its project. Empty: not an environment, or deleted. */
function environmentIn(project: { name: string; parentId: number | null } | undefined): string {
  return project === undefined || project.parentId === null ? "" : (project.name.split("/").at(-1) ?? "");
}

/** For the tasks that were deployed last: the state of their services or, without services, whether a check passed. */
async function servesOf(store: Store, live: Task[]): Promise<Map<number, Serves>> {
  if (live.length === 0) return new Map();
  const services = await store.services.ofProjects(live.map(({ projectId }) => projectId));
  return new Map(
    live.map(({ id, projectId, pipeline }) => {
      const own = serviceSummary(
        services.filter((service) => service.projectId === projectId),
        store.now(),
      );
      const byDeploy = pipeline !== null && isChecked(pipeline) ? "checked" : "unchecked";
      return [id, own?.state ?? byDeploy];
    }),
  );
}
