import { Fault } from "../../errors.ts";
import { reasonText } from "../../reason/reason.ts";
import type { Samples } from "../../sample/sample.ts";
import { auditProject, projectOf } from "./context.ts";
import { newApi, routesOf } from "./route.ts";
import { id, idParams } from "./scalars.ts";
import { json, noContent, z } from "./shape.ts";

const route = routesOf("samples");

const createSample = route("post", "/samples", {
  summary: "Make a sample project and push to it",
  description:
    "A small repository in the data folder, a project over it, and a signed push to its webhook: a deploy to watch, without a Git host.",
  access: "admin",
  responses: {
    201: json(
      "What was made.",
      z.object({ projectId: id, deliveryId: z.number().int(), taskId: id.nullable() }).openapi("Sample"),
    ),
  },
});

const deleteSample = route("delete", "/samples/{id}", {
  summary: "Remove a sample project",
  description: "Deletes its repository, tasks, logs and deliveries too. `id` is the id of the project.",
  access: { project: "manage" },
  request: { params: idParams("id") },
  responses: { 204: noContent },
});

export function samplesApi(samples: Samples) {
  return newApi()
    .openapi(createSample, async (c) => {
      const { project, deliveryId, taskId } = await samples.create();
      await auditProject(c, "sample.create", project);
      return c.json({ projectId: project.id, deliveryId, taskId }, 201);
    })
    .openapi(deleteSample, async (c) => {
      const project = projectOf(c);
      if (!project.sample) throw new Fault("conflict", reasonText("no_sample", { name: project.name }));
      await samples.remove(project);
      await auditProject(c, "sample.delete", project);
      return c.body(null, 204);
    });
}
