import type { Project } from "../../model/project.ts";
import { flag, json, plain, reasonField, rowShape, time } from "../query/row.ts";

export const projectShape = rowShape<Project, "projects">({
  id: plain(),
  name: plain(),
  groupId: plain(),
  git: json(),
  stages: json(),
  env: json(),
  notify: json(),
  commitStatus: json(),
  labels: json(),
  supersede: plain(),
  deploy: json(),
  image: plain(),
  needsContainer: flag,
  isolation: plain(),
  cache: json(),
  limits: json(),
  rollback: plain(),
  publicUrl: plain(),
  liveTaskId: plain(),
  liveNote: reasonField,
  homeRunnerId: plain(),
  sample: flag,
  createdAt: time,
});
