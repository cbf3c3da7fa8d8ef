import { completePipeline, pipelineBody } from "../../model/pipeline.ts";
import { defaultFilePath } from "../../model/pipeline-file/file-path.ts";
import { besideFile } from "../../model/pipeline-file/file-source.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { checkedFile } from "../../task/file-faults.ts";
import { projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { newApi, routesOf } from "./route.ts";
import { json, z } from "./shape.ts";

const route = routesOf("projects");

const fileFault = z.object({
  path: z.array(z.union([z.string(), z.number()])).openapi({ description: "The field in the pipeline." }),
  message: z.string(),
  messageParts: reasonPartsShape,
});
export type FileFaultAnswer = z.infer<typeof fileFault>;

const checkPipeline = route("post", "/projects/{id}/pipeline/check", {
  summary: "Check a pipeline file",
  description:
    "What the project does not allow in its file, as a task would say it: domains, limits, settings that only a project has. Nothing is changed.",
  access: { project: "view" },
  body: pipelineBody,
  ok: json("What is wrong.", z.object({ faults: z.array(fileFault) })),
});

/** `slipway pipeline check --project`. */
export function pipelineChecksApi({ store, anyDomain }: ApiDeps) {
  return newApi().openapi(checkPipeline, async (c) => {
    const project = projectOf(c);
    const source = project.pipelineFile ?? { path: defaultFilePath, ...besideFile(project.pipeline) };
    const pipeline = completePipeline(c.req.valid("json"));
    const { faults } = await checkedFile(store, pipeline, { project, source, anyDomain });
    const shown = faults.map(({ path, message }) => ({ path, ...reasonJson({ message }) }));
    return c.json({ faults: shown }, 200);
  });
}
