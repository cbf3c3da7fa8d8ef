import type { HostLinks } from "../../task/host-links.ts";
import type { TaskChanges } from "../../task/release/task-changes.ts";
import { routesOf } from "./route.ts";
import { id, time } from "./scalars.ts";
import { json, jsonOf, z } from "./shape.ts";

const servingShape = z.object({
  taskId: id,
  ref: z.string(),
  commit: z.string(),
  message: z.string(),
  deployedAt: time,
});

const commitShape = z.object({
  taskId: id,
  commit: z.string().nullable(),
  message: z.string(),
  author: z.string(),
  createdAt: time,
});

const changesShape = z
  .object({
    serving: servingShape.nullable().openapi({
      description: "The release that serves, by the task that built it; null: none is known to.",
    }),
    commits: z.array(commitShape).openapi({
      description:
        "Newest first: this task, and the pushes to its ref since the serving release, one for each commit. Other commits of these pushes are not known to the server; `compare` shows them.",
    }),
    goesBack: z.boolean().openapi({
      description: "The commit is an earlier one than that of the serving release.",
    }),
    settings: z
      .array(
        z.object({
          setting: z.string().openapi({ example: "env.PORT" }),
          serving: z.string().nullable().openapi({ description: "Of what serves; null: not set." }),
          task: z.string().nullable().openapi({ description: "Of this task; null: not set." }),
        }),
      )
      .openapi({
        description:
          "Variables and settings of the pipeline that differ; of two approved tasks also name, repository, isolation and limits.",
      }),
    compare: z.string().nullable().openapi({ description: "The page of the Git host with all changes." }),
  })
  .openapi("TaskChanges");

export const getChanges = routesOf("tasks")("get", "/tasks/{id}/changes", {
  summary: "What a deploy of a task changes",
  description:
    "Commits and settings, compared with the release that serves. A task with an approval has the settings that were pinned for it.",
  access: "signed-in",
  ok: json("The changes.", changesShape),
});

export function changesJson({ serving, commits, goesBack, settings }: TaskChanges, links: HostLinks | null) {
  return jsonOf(changesShape, {
    serving: serving && jsonOf(servingShape, serving),
    commits: commits.map((task) => jsonOf(commitShape, { ...task, taskId: task.id })),
    goesBack,
    settings: settings.map(({ setting, release, project }) => ({ setting, serving: release, task: project })),
    compare: links?.compare ?? null,
  });
}
