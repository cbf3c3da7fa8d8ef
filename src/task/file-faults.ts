import { inEnvironment, ownPipeline } from "../model/environment/environment.ts";
import { type Pipeline, pipelineFaults, servicesOf } from "../model/pipeline.ts";
import { type FileSource, withProjectSettings } from "../model/pipeline-file/file-source.ts";
import { outsideFile } from "../model/pipeline-file/outside-file.ts";
import type { Project } from "../model/project.ts";
import { placesIn, refusedDomains } from "../model/service/route-place.ts";
import type { FieldFault } from "../model/service/service.ts";
import type { Keepers } from "../model/store.ts";
import { newReason } from "../reason/reason.ts";
import { domainRuleOf } from "./domain-rule.ts";

interface FileRules {
  project: Pick<Project, "pipeline" | "environment" | "groupId" | "allowedDomains" | "limits">;
  source: FileSource;
  /** The setting routes.anyDomain. */
  anyDomain: boolean;
}

/**
 * The pipeline that a project gets from a file, and what it does not allow there. Everybody who can push writes the file, so all
 * that it must not decide is checked here.
 */
export async function checkedFile(
  { groups }: Pick<Keepers, "groups">,
  pipeline: Pipeline,
  { project, source, anyDomain }: FileRules,
): Promise<{ pipeline: Pipeline; faults: FieldFault[] }> {
  const whole = withProjectSettings(pipeline, source);
  const refused = refusedDomains(
    placesIn(inEnvironment(whole.pipeline, project.environment)),
    placesIn(ownPipeline(project)),
    await domainRuleOf({ groups }, project, anyDomain),
  );
  return {
    pipeline: whole.pipeline,
    faults: [
      ...outsideFile(pipeline),
      ...whole.faults,
      ...pipelineFaults(whole.pipeline),
      ...limitFaults(whole.pipeline, project.limits),
      ...refused.map(({ field, message }) => ({ path: pathInFile(field), message })),
    ],
  };
}

function limitFaults(pipeline: Pipeline, limits: Project["limits"]): FieldFault[] {
  return servicesOf(pipeline).flatMap(({ name, limits: own }) =>
    (["memoryMb", "cpus", "processes"] as const).flatMap((limit) => {
      const [asked, allowed] = [own[limit], limits[limit]];
      if (asked === null || allowed === null || asked <= allowed) return [];
      return [
        { path: ["start", name, "limits", limit], message: newReason("file_limit", { limit: allowed }) },
      ];
    }),
  );
}

/** Of a field of a project, such as `pipeline.start.web`. */
export function pathInFile(field: string): string[] {
  return field.split(".").slice(1);
}
