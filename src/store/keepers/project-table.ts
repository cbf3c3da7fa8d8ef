import type { Project } from "../../model/project.ts";
import { flag, json, optional, plain, reasonField, time } from "../query/row.ts";
import { table } from "../query/table.ts";
import { pipelineField } from "./pipeline-field.ts";

export const projects = table<Project, "projects">("projects", {
  id: plain(),
  name: plain(),
  groupId: plain(),
  git: json(),
  pipeline: pipelineField,
  env: json(),
  notify: json(),
  defaultNotify: flag,
  commitStatus: json(),
  labels: json(),
  supersede: plain(),
  deploy: json(),
  image: plain(),
  needsContainer: flag,
  isolation: plain(),
  cache: json(),
  limits: json(),
  diskMb: plain(),
  disk: optional(json()),
  rollback: plain(),
  rollbackWithin: plain(),
  publicUrl: plain(),
  allowedDomains: optional(json()),
  liveTaskId: plain(),
  liveNote: reasonField,
  homeRunnerId: plain(),
  sample: flag,
  createdAt: time,
});
