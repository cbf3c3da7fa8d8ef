import type { Task } from "../../model/task.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { taskJson } from "../../task/view/task-json.ts";
import { callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { id, text } from "./scalars.ts";
import { json, z } from "./shape.ts";
import { taskShape } from "./task-shape.ts";

const route = routesOf("tasks");
const maxProjects = 200;

const readProjectTasks = route("get", "/project-tasks", {
  summary: "Last and live task of several projects",
  description:
    "For a list of projects: the newest and the live task of each project that the caller may view, in one call.",
  access: "signed-in",
  query: {
    projectIds: text(2400, 1)
      .regex(/^\d{1,10}(,\d{1,10})*$/, ruleText("ids_invalid"))
      .openapi({ example: "1,2,3" }),
  },
  ok: json(
    "In the order asked for.",
    z
      .object({
        items: z.array(z.object({ projectId: id, last: taskShape.nullable(), live: taskShape.nullable() })),
      })
      .openapi("ProjectTasks"),
  ),
});

export function projectTasksApi({ store: { projects, tasks } }: ApiDeps) {
  async function liveOf(projectId: number): Promise<Task | null> {
    const liveTaskId = (await projects.byId(projectId))?.liveTaskId ?? null;
    return liveTaskId === null ? null : tasks.byId(liveTaskId);
  }

  return newApi().openapi(readProjectTasks, async (c) => {
    const visible = await c.var.permissions.visibleProjectIds(callerOf(c));
    const asked = c.req.valid("query").projectIds.split(",").map(Number).slice(0, maxProjects);
    const ids = visible === undefined ? asked : asked.filter((projectId) => visible.includes(projectId));
    const last = await tasks.lastOfProjects(ids);
    const items = await Promise.all(
      ids.map(async (projectId) => ({
        projectId,
        last: written(last.find((task) => task.projectId === projectId) ?? null),
        live: written(await liveOf(projectId)),
      })),
    );
    return c.json({ items }, 200);
  });
}

function written(task: Task | null) {
  return task === null ? null : taskJson(task);
}
