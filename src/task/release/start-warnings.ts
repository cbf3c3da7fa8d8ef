import { servicesOf, stepsToRun } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import { newReason, type Reason } from "../../reason/reason.ts";

/** What start scripts of version 1.0 still say, and how to write it. */
export function startWarnings({ pipeline, env }: Pick<Project, "pipeline" | "env">): Reason[] {
  const scripts = servicesOf(pipeline).filter(({ background }) => background);
  const usesPort = stepsToRun(pipeline, "start").some(({ script }) => /\$(PORT\b|\{PORT\b)/.test(script));
  return [
    ...scripts.map(({ name }) => newReason("warn_background", { name })),
    ...(usesPort && env.PORT === undefined ? [newReason("warn_start_port")] : []),
  ];
}
