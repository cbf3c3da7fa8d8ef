import { completePipeline, type Pipeline } from "../../model/pipeline.ts";
import type { Field } from "../query/row.ts";

/** A field that was added after a pipeline was stored has its default. */
export const pipelineField: Field<Pipeline> = {
  encode: (pipeline) => JSON.stringify(pipeline),
  decode: (stored) => completePipeline(JSON.parse(String(stored))),
};
