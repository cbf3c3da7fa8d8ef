import { z } from "zod";
import { pipelineFileBody } from "./file-schema.ts";

/** Where every server has it. */
export const schemaPath = "/schemas/pipeline.json";

/** For editors, which complete and check the file while it is written. */
export function pipelineFileSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(pipelineFileBody, {
    target: "draft-07",
    io: "input",
    override({ jsonSchema }) {
      const { example, ...rest } = jsonSchema as { example?: unknown };
      for (const name of Object.keys(jsonSchema)) delete jsonSchema[name];
      Object.assign(jsonSchema, rest, example === undefined ? {} : { examples: [example] });
    },
  });
  return { ...schema, title: "Pipeline of a Slipway project" };
}
