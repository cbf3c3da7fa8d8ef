import { Fault } from "../../errors.ts";
import type { Project } from "../../model/project.ts";
import { newReason } from "../../reason/reason.ts";
import { type ApiContext, auditProject, projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { id } from "./scalars.ts";
import { json, strict, z } from "./shape.ts";

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

const pushSample = route("post", "/samples/{id}/push", {
  summary: "Push a commit to a sample project",
  description:
    "Commits a page without its heading and sends a signed push: its health check fails, and the release before it comes back. With `broken: false` the page has its heading again. `id` is the id of the project.",
  access: { project: "manage" },
  body: strict({ broken: z.boolean().default(true) }),
  faults: { 409: "It is no sample, or its webhook has no secret." },
  created: json(
    "What was pushed.",
    z.object({ deliveryId: z.number().int(), taskId: id.nullable() }).openapi("SamplePush"),
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
    .openapi(pushSample, async (c) => {
      const project = sampleOf(c);
      const pushed = await samples.push(project, { isBroken: c.req.valid("json").broken });
      await auditProject(c, "sample.push", project);
      return c.json(pushed, 201);
    })
    .openapi(deleteSample, async (c) => {
      const project = sampleOf(c);
      await samples.remove(project);
      await auditProject(c, "sample.delete", project);
      return c.body(null, 204);
    });
}

function sampleOf(c: ApiContext): Project {
  const project = projectOf(c);
  if (!project.sample) throw new Fault("conflict", newReason("no_sample", { name: project.name }));
  return project;
}
