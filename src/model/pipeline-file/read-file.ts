import { newReason } from "../../reason/reason.ts";
import { completePipeline, type Pipeline, pipelineFaults } from "../pipeline.ts";
import { type FileFault, inOrder } from "./file-fault.ts";
import { pipelineFileBody } from "./file-schema.ts";
import { type ReadFields, readFields } from "./read-fields.ts";
import { settingFault } from "./setting-names.ts";

/** A file of the repository that says the pipeline of a project: read by runners, and by `slipway pipeline check`. */
export interface ReadFile extends Pick<ReadFields<never>, "faultAt"> {
  pipeline: Pipeline;
}

/** Anchors can make much of a small file, and the pipeline is sent and stored. */
const maxLength = 1_000_000;

/** The pipeline of the file, or what is wrong with it, in the order of its lines. */
export function readPipelineFile(text: string): ReadFile | FileFault[] {
  const read = readFields(text, pipelineFileBody, {
    empty: newReason("file_empty"),
    noMap: newReason("file_no_map"),
    nameFault: settingFault,
  });
  if (Array.isArray(read)) return read;
  const { fields, faultAt } = read;
  const pipeline = completePipeline(fields);
  if (JSON.stringify(pipeline).length > maxLength)
    return [{ line: 1, column: 1, field: "", message: newReason("file_expanded", { limit: maxLength }) }];
  const faults = pipelineFaults(pipeline).map(({ path, message }) => faultAt(path, message));
  return faults.length > 0 ? inOrder(faults) : { pipeline, faultAt };
}
