import { Fault } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import { auditProject, projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { id } from "./scalars.ts";
import { json, z } from "./shape.ts";

const route = routesOf("samples");

const createSample = route("post", "/samples", {
  summary: "Make a sample project and push to it",
  description:
    "A small repository in the data folder, a project over it, and a signed push to its webhook: a deploy to watch, without a Git host.",
  access: "admin",
  created: json(
    "What was made.",
    z.object({ projectId: id, deliveryId: z.number().int(), taskId: id.nullable() }).openapi("Sample"),
  ),
});

const deleteSample = route("delete", "/samples/{id}", {
  summary: "Remove a sample project",
  description: "Deletes its repository, tasks, logs and deliveries too. `id` is the id of the project.",
  access: { project: "manage" },
});

export function samplesApi({ webhook: { samples } }: ApiDeps) {
  return newApi()
    .openapi(createSample, async (c) => {
      const { project, deliveryId, taskId } = await samples.create();
      await auditProject(c, "sample.create", project);
      return c.json({ projectId: project.id, deliveryId, taskId }, 201);
    })
    .openapi(deleteSample, async (c) => {
      const project = projectOf(c);
      if (!project.sample) throw new Fault("conflict", newReason("no_sample", { name: project.name }));
      await samples.remove(project);
      await auditProject(c, "sample.delete", project);
      return c.body(null, 204);
    });
}
