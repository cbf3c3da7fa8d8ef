import { type Project, projectSchema } from "../../model/project.ts";
import { reasonField } from "../query/row.ts";
import { fieldsOf } from "../query/schema-fields.ts";
import { table } from "../query/table.ts";
import { pipelineField } from "./pipeline-field.ts";

export const projects = table<Project, "projects">("projects", {
  ...fieldsOf(projectSchema),
  pipeline: pipelineField,
  liveNote: reasonField,
});
