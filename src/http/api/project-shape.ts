import { Fault } from "../../errors.ts";
import { deployRuleBody } from "../../model/approval/deploy-rule.ts";
import { environmentBody, maxEnvironments, ownPipeline } from "../../model/environment/environment.ts";
import { isolationLevels, noLimits, resourceLimits } from "../../model/execution.ts";
import { type GitUrlRules, gitUrlFault } from "../../model/git/git-url.ts";
import type { Permission } from "../../model/permission.ts";
import {
  completePipeline,
  hostSteps,
  type Pipeline,
  type PipelineBody,
  pipelineFaults,
} from "../../model/pipeline.ts";
import {
  type Project,
  type ProjectChange,
  projectRevision,
  projectSchema,
  projectSettings,
} from "../../model/project.ts";
import { isReservedSecret, reservedSecrets } from "../../model/sealed.ts";
import { diskLimitOf, diskWarnings } from "../../model/service/disk-use.ts";
import { firstRouteUrl } from "../../model/service/route-place.ts";
import { type RunningService, stateAt, worstState } from "../../model/service/running-service.ts";
import { serviceStates } from "../../model/service/service.ts";
import { commitStatusSettings } from "../../model/settings/commit-status.ts";
import type { ShownSecret } from "../../model/settings/stored-secret.ts";
import {
  type StagesBody,
  stageFaults,
  stagesBody,
  stagesOf,
  stagesSchema,
  withStages,
} from "../../model/stage/stages.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { wrongFields } from "./field-faults.ts";
import { notifyTargetBody, notifyTargetJson, notifyTargetShape } from "./notify-shape.ts";
import { pipelineOrFileBody } from "./pipeline-source.ts";
import { reasonPartsShape, warningPartsShape, withWarnings } from "./reason-shape.ts";
import { revision } from "./revision.ts";
import { answered, ownPermission } from "./scalars.ts";
import { secretsJson, secretsShape } from "./secret-shape.ts";
import { jsonOf, listOf, onlyGiven, strict, z } from "./shape.ts";

/** The settings that the API writes as they are, and those with another form there. */
const { git, diskMb, pipelineFile, ...settings } = projectSettings.shape;
const known = answered(
  projectSchema.pick({
    id: true,
    liveTaskId: true,
    liveNote: true,
    homeRunnerId: true,
    sample: true,
    createdAt: true,
    fileRead: true,
    parentId: true,
    environment: true,
  }),
);
const limitFields = { ...resourceLimits.shape, diskMb };

/** The bodies of create and update; `rules` come from the settings. */
export function projectBodies(rules: GitUrlRules) {
  const url = z
    .string()
    .superRefine((value, context) => {
      const fault = gitUrlFault(value, rules);
      if (fault) context.addIssue({ code: "custom", message: JSON.stringify(fault) });
    })
    .openapi({ example: "https://git.example.com/shop.git" });
  const gitBody = strict({ ...git.shape, url }).partial();
  const update = strict({
    ...settings,
    git: gitBody,
    stages: stagesBody,
    pipeline: pipelineOrFileBody,
    notify: z.array(notifyTargetBody).max(20),
    environments: z.array(environmentBody).max(maxEnvironments),
    commitStatus: strict(commitStatusSettings.shape).partial(),
    deploy: deployRuleBody,
    isolation: z
      .enum([...isolationLevels, "user"])
      .transform((level) => (level === "user" ? "sandbox" : level))
      .openapi({
        description:
          "The weakest isolation of a runner that may run the tasks of the project. `user`, of versions before 2.0, means `sandbox`.",
      }),
    limits: strict(limitFields).partial(),
  }).partial();
  const create = strict({ ...update.shape, name: settings.name, git: gitBody.required({ url: true }) });
  return { create, update };
}

type ProjectBody = z.infer<ReturnType<typeof projectBodies>["update"]>;

/** Limits that a change does not name stay. */
export function mergeLimits(
  before: Project["limits"] | null,
  { diskMb, ...sent }: NonNullable<ProjectBody["limits"]>,
): Pick<ProjectChange, "limits" | "diskMb"> {
  const ofSteps = onlyGiven(sent);
  const isSent = Object.keys(ofSteps).length > 0;
  return onlyGiven({ diskMb, limits: isSent ? { ...(before ?? noLimits), ...ofSteps } : undefined });
}

/** The pipeline after a change: what was not sent stays. */
export function mergePipeline(
  before: Pipeline,
  { stages, pipeline: sent }: { stages?: StagesBody | undefined; pipeline?: PipelineBody | undefined },
): Pipeline {
  if (stages && sent)
    throw wrongFields("body", [{ field: "stages", message: newReason("stages_beside_pipeline") }]);
  const pipeline = stages ? withStages(before, stages) : completePipeline(sent ?? {}, before);
  const faults = [...(stages ? stageFaults(before, stages) : []), ...pipelineFaults(pipeline)];
  // A stage of `stages` has one step.
  const fieldOf = (path: (string | number)[]) =>
    stages ? ["stages", ...path.filter((part) => typeof part === "string")] : ["pipeline", ...path];
  const fields = faults.map(({ path, message }) => ({ field: fieldOf(path).join("."), message }));
  if (fields.length > 0) throw wrongFields("body", fields);
  return pipeline;
}

/** A host step is as powerful as the runner, whatever its script is. */
export function mayChangeHostSteps(isAdmin: boolean, before: Pipeline, after: Pipeline): void {
  if (isAdmin || JSON.stringify(hostSteps(before)) === JSON.stringify(hostSteps(after))) return;
  throw new Fault("forbidden", newReason("host_steps"), {
    fields: [{ field: "pipeline", message: newReason("host_admin") }],
  });
}

export const projectShape = z
  .object({
    ...settings,
    ...known,
    pipelineFile,
    git: git.extend({
      lfs: git.shape.lfs.unwrap(),
      credentialSet: z.boolean().openapi({ description: "The credential itself is never returned." }),
    }),
    stages: stagesSchema.nullable().openapi({
      description: "One script in each stage, as in version 1.0; null: the pipeline says more than that.",
    }),
    secretNames: z.array(z.string()).openapi({ description: "Values are never returned." }),
    secrets: secretsShape,
    notify: z.array(notifyTargetShape),
    limits: z.object(limitFields).openapi({
      description:
        "Bounds for each step, and `diskMb` for the project; null: none. `cpus` holds in containers, and where the runner has a control group of its own.",
    }),
    liveNoteParts: reasonPartsShape,
    disk: z
      .object({
        releasesBytes: z.number().int(),
        dataBytes: z.number().int(),
        limitBytes: z
          .number()
          .int()
          .nullable()
          .openapi({ description: "The smaller one of `limits.diskMb` and the runner's; null: no limit." }),
      })
      .nullable()
      .openapi({
        description:
          "What its releases and its data take on its runner, measured after each task and every ten minutes while it has services; null: not measured yet.",
      }),
    services: z
      .object({
        state: z.enum(serviceStates).openapi({ description: "That of the worst service." }),
        serving: z.number().int(),
        total: z.number().int(),
      })
      .nullable()
      .openapi({ description: "Its services, as their runner reports them; null: none was reported." }),
    warnings: z.array(z.string()).openapi({
      description:
        "What its owner should decide. For people with `manage`, the project alone (not in lists) has the warnings about its enabled webhook and its approvals too.",
    }),
    warningParts: warningPartsShape,
    permission: ownPermission,
    revision,
  })
  .openapi("Project");

/** A secret for which nobody has chosen. */
function secretWarnings({ deploy }: Project, secrets: ShownSecret[]): Reason[] {
  const names = secrets.filter(({ scope }) => scope === null).map(({ name }) => name);
  if (deploy.approval === "none" || names.length === 0) return [];
  return [newReason("warn_secrets_all", { names: names.join(", ") })];
}

type ServiceSummary = NonNullable<ProjectAnswer["services"]>;

export function serviceSummary(services: readonly RunningService[], now: Date): ServiceSummary | null {
  const states = services.map((service) => stateAt(service, now));
  const state = worstState(states);
  if (state === null) return null;
  return { state, serving: states.filter((each) => each === "serving").length, total: states.length };
}

export const changedProjectShape = projectShape
  .extend({
    warnings: z.array(z.string()).openapi({
      description: "Secrets that the change deleted, and settings that harm each other, as text for people.",
    }),
  })
  .openapi("ChangedProject");

export type ProjectAnswer = z.infer<typeof projectShape>;
export const projectList = listOf(projectShape, "ProjectList");

export function projectJson(
  project: Project,
  secrets: ShownSecret[],
  permission: Permission,
  services: ServiceSummary | null,
) {
  const names = secrets.map((secret) => secret.name);
  const forScripts = secrets.filter(({ name }) => !isReservedSecret(name));
  return jsonOf(projectShape, {
    ...project,
    git: {
      ...project.git,
      lfs: project.git.lfs ?? false,
      credentialSet: names.includes(reservedSecrets.credential),
    },
    stages: stagesOf(project.pipeline),
    secretNames: forScripts.map(({ name }) => name),
    secrets: secretsJson(forScripts),
    limits: { ...project.limits, diskMb: project.diskMb },
    disk: project.disk && {
      releasesBytes: project.disk.releasesBytes,
      dataBytes: project.disk.dataBytes,
      limitBytes: diskLimitOf(project),
    },
    publicUrl: project.publicUrl || firstRouteUrl(ownPipeline(project)),
    services,
    notify: project.notify.map(notifyTargetJson),
    ...reasonJson({ liveNote: project.liveNote }),
    ...withWarnings([...secretWarnings(project, forScripts), ...diskWarnings(project)]),
    permission,
    revision: projectRevision(project),
  });
}
