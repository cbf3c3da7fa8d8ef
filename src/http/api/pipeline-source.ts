import { emptyPipeline, type Pipeline, pipelineBody } from "../../model/pipeline.ts";
import { defaultFilePath } from "../../model/pipeline-file/file-path.ts";
import {
  besideFile,
  type FileSource,
  fileSource,
  keptOutOfFile,
} from "../../model/pipeline-file/file-source.ts";
import type { Project, ProjectChange } from "../../model/project.ts";
import { given } from "../../model/service/given.ts";
import type { StagesBody } from "../../model/stage/stages.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { wrongFields } from "./field-faults.ts";
import { strict, z } from "./shape.ts";

const { path, ports, withoutNetwork } = fileSource.shape;

/** A pipeline, or where the repository has it. */
export const pipelineOrFileBody = strict({
  ...pipelineBody.shape,
  from: z.enum(["project", "repository"]).openapi({
    description:
      "`repository`: each task reads the pipeline from the file `path` of its commit. `project`: the project keeps the pipeline: the one that is sent, otherwise the one that was read last.",
  }),
  ...{ path, ports, withoutNetwork },
}).partial();
type PipelineOrFile = z.infer<typeof pipelineOrFileBody>;

interface Sent {
  stages?: StagesBody | undefined;
  pipeline?: PipelineOrFile | undefined;
}

type Source = Pick<Project, "pipeline" | "pipelineFile">;

export const noSource: Source = { pipeline: emptyPipeline, pipelineFile: null };

/** What changes of the pipeline and of the file that says it. `merge` applies a pipeline that was sent. */
export function mergeSource(
  before: Source,
  { stages, pipeline }: Sent,
  merge: (before: Pipeline, sent: Sent) => Pipeline,
): Pick<ProjectChange, "pipeline" | "pipelineFile"> {
  if (!stages && !pipeline) return {};
  const { from, path, ports, withoutNetwork, ...said } = pipeline ?? {};
  const ofFile = given({ path, ports, withoutNetwork });
  const isFile = from === undefined ? before.pipelineFile !== null : from === "repository";
  if (!isFile) {
    refuseFields(ofFile, newReason("file_only"));
    return {
      pipeline: merge(before.pipeline, { stages, ...(pipeline ? { pipeline: said } : {}) }),
      ...(before.pipelineFile === null ? {} : { pipelineFile: null }),
    };
  }
  const held: FileSource = before.pipelineFile ?? { path: defaultFilePath, ...besideFile(before.pipeline) };
  const inFile = newReason("file_in_repository", { path: held.path });
  if (stages) throw wrongFields("body", [{ field: "stages", message: inFile }]);
  refuseFields(given(said), inFile);
  const names = keptOutOfFile(before.pipeline).join(", ");
  if (names !== "")
    throw wrongFields("body", [{ field: "pipeline.from", message: newReason("file_host_steps", { names }) }]);
  return { pipelineFile: { ...held, ...ofFile } };
}

function refuseFields(sent: object, message: Reason): void {
  const fields = Object.keys(sent).map((name) => ({ field: `pipeline.${name}`, message }));
  if (fields.length > 0) throw wrongFields("body", fields);
}
