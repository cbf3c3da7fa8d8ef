import { Fault } from "../../errors.ts";
import { type GitUrlRules, gitUrlFault } from "../../model/git/git-url.ts";
import type { Permission } from "../../model/permission.ts";
import {
  completePipeline,
  hostSteps,
  type Pipeline,
  pipelineBody,
  pipelineFaults,
  pipelineSchema,
} from "../../model/pipeline.ts";
import {
  type Project,
  type ProjectSecret,
  projectRevision,
  secretForms,
  secretScopes,
} from "../../model/project.ts";
import { isReservedSecret, reservedSecrets } from "../../model/sealed.ts";
import { diskLimitOf, diskWarnings } from "../../model/service/disk-use.ts";
import { domainSchema } from "../../model/service/route.ts";
import { firstRouteUrl } from "../../model/service/route-place.ts";
import { type RunningService, stateAt, worstState } from "../../model/service/running-service.ts";
import { serviceStates } from "../../model/service/service.ts";
import { stageFaults, stagesBody, stagesOf, stagesSchema, withStages } from "../../model/stage/stages.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { httpUrl } from "../../reason/schema-forms.ts";
import { deployRuleBody, deployRuleShape } from "./approval-shape.ts";
import { executionBody, executionShape } from "./execution-shape.ts";
import { wrongFields } from "./field-faults.ts";
import {
  commitStatusBody,
  commitStatusShape,
  notifyTargetBody,
  notifyTargetJson,
  notifyTargetShape,
} from "./notify-shape.ts";
import { reasonPartsShape, warningPartsShape, withWarnings } from "./reason-shape.ts";
import { revision } from "./revision.ts";
import { label } from "./runners.ts";
import { gitRef, id, name, ownPermission, text, time } from "./scalars.ts";
import { jsonOf, listOf, strict, z } from "./shape.ts";

const maxVariables = 200;

/** A name that shells and programs take; `CI_…` is what Slipway itself tells scripts. */
export const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, ruleText("variable_name"))
  .refine((value) => !value.startsWith("CI_"), ruleText("variable_reserved"))
  .openapi({ example: "DEPLOY_HOST" });

export const variableValue = text(32_768);

const env = z
  .record(variableName, variableValue)
  .refine(
    (value) => Object.keys(value).length <= maxVariables,
    ruleText("at_most_entries", { limit: maxVariables }),
  )
  .openapi({ example: { NODE_ENV: "production" } });

const supersede = z.enum(["none", "queued", "running"]).openapi({
  description:
    "Which older tasks of the same ref a new one cancels: none, those queued, or running ones too.",
});

export const secretScope = z.enum(secretScopes).openapi({
  description:
    "`all`: every stage gets it. `deploy`: only deploy and start, which an approval protects; builds of pushes do not.",
});

export const secretForm = z.enum(secretForms).openapi({
  description:
    "`variable`: scripts get the value in a variable. `file`: they get a file, and the variable has its path.",
});

const rollback = z.enum(["automatic", "off"]).openapi({
  description:
    "Whether the previous release comes back by itself when deploy, start or the health check fails.",
});

const rollbackWithin = z.number().int().min(0).max(1440).openapi({
  description:
    "Minutes after a deploy in which services that end again and again bring the previous release back; 0: off.",
});

const defaultNotify = z.boolean().openapi({
  description: "Whether the default target of the installation receives its messages too.",
});

const publicUrl = text(2000)
  .refine((value) => value === "" || httpUrl.safeParse(value).success, ruleText("url_not_http"))
  .openapi({
    description:
      "Where users reach what the project serves: the link “Visit” of the console. Empty: that of its first route, or none.",
    example: "https://shop.example.com",
  });

/** Of a project, and of a group. */
export const allowedDomains = z
  .array(domainSchema)
  .max(200)
  .nullable()
  .openapi({
    description:
      "Domains that routes may have: names, or `*.example.com` for all below one. Set by administrators; those of a project and of its group count together. Null: nobody has said.",
    example: ["*.example.com"],
  });

const lfs = z.boolean().openapi({
  description:
    "Whether the files of Git LFS are fetched, with the clone credential. The runner needs git-lfs.",
});

/** The bodies of create and update; `rules` come from the settings. */
export function projectBodies(rules: GitUrlRules) {
  const url = z
    .string()
    .superRefine((value, context) => {
      const fault = gitUrlFault(value, rules);
      if (fault) context.addIssue({ code: "custom", message: JSON.stringify(fault) });
    })
    .openapi({ example: "https://git.example.com/shop.git" });
  const git = { url, ref: gitRef.optional(), submodules: z.boolean().optional(), lfs: lfs.optional() };
  const rest = {
    groupId: id.nullable().optional(),
    stages: stagesBody.optional(),
    pipeline: pipelineBody.optional(),
    env: env.optional(),
    notify: z.array(notifyTargetBody).max(20).optional(),
    defaultNotify: defaultNotify.optional(),
    commitStatus: commitStatusBody.optional(),
    labels: z.array(label).max(32).optional(),
    supersede: supersede.optional(),
    deploy: deployRuleBody.optional(),
    ...executionBody,
    rollback: rollback.optional(),
    rollbackWithin: rollbackWithin.optional(),
    publicUrl: publicUrl.optional(),
    allowedDomains: allowedDomains.optional(),
  };
  return {
    create: strict({ name, git: strict(git), ...rest }),
    update: strict({
      name: name.optional(),
      git: strict({ ...git, url: url.optional() }).optional(),
      ...rest,
    }),
  };
}

type PipelinePart = Pick<z.infer<ReturnType<typeof projectBodies>["update"]>, "stages" | "pipeline">;

/** The pipeline after a change: what was not sent stays. */
export function mergePipeline(before: Pipeline, { stages, pipeline: sent }: PipelinePart): Pipeline {
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
    id: z.number().int(),
    name: z.string().openapi({ example: "shop" }),
    groupId: z.number().int().nullable(),
    git: z.object({
      url: z.string(),
      ref: z.string(),
      submodules: z.boolean(),
      lfs,
      credentialSet: z.boolean().openapi({ description: "The credential itself is never returned." }),
    }),
    stages: stagesSchema.nullable().openapi({
      description: "One script in each stage, as in version 1.0; null: the pipeline says more than that.",
    }),
    pipeline: pipelineSchema,
    env: z.record(z.string(), z.string()),
    secretNames: z.array(z.string()).openapi({ description: "Values are never returned." }),
    secrets: z
      .array(
        z.object({
          name: z.string(),
          scope: secretScope,
          isScopeChosen: z
            .boolean()
            .openapi({ description: "False: it is `all` because nobody has chosen." }),
          as: secretForm,
        }),
      )
      .openapi({ description: "Their names, and the stages that get them." }),
    notify: z.array(notifyTargetShape),
    defaultNotify,
    commitStatus: commitStatusShape,
    labels: z.array(z.string()),
    supersede,
    deploy: deployRuleShape,
    ...executionShape,
    rollback,
    rollbackWithin,
    publicUrl,
    allowedDomains,
    liveTaskId: z
      .number()
      .int()
      .nullable()
      .openapi({ description: "The task whose commit is serving; null: none is known to serve." }),
    liveNote: z.string().openapi({
      description: "What happened to it last, for people; empty if there is nothing to say.",
      example: "abc1234 failed; def5678 is serving again.",
    }),
    liveNoteParts: reasonPartsShape,
    homeRunnerId: z
      .number()
      .int()
      .nullable()
      .openapi({ description: "The runner on which it was deployed, which gets its tasks." }),
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
    sample: z.boolean(),
    permission: ownPermission,
    revision,
    createdAt: time,
  })
  .openapi("Project");

/** A secret for which nobody has chosen. */
function secretWarnings({ deploy }: Project, secrets: Omit<ProjectSecret, "ciphertext">[]): Reason[] {
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
  secrets: Omit<ProjectSecret, "ciphertext">[],
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
    secrets: forScripts.map(({ name, scope, as }) => ({
      ...{ name, scope: scope ?? "all", isScopeChosen: scope !== null, as },
    })),
    limits: { ...project.limits, diskMb: project.diskMb },
    disk: project.disk && {
      releasesBytes: project.disk.releasesBytes,
      dataBytes: project.disk.dataBytes,
      limitBytes: diskLimitOf(project),
    },
    publicUrl: project.publicUrl || firstRouteUrl(project.pipeline),
    services,
    notify: project.notify.map(notifyTargetJson),
    ...reasonJson({ liveNote: project.liveNote }),
    ...withWarnings([...secretWarnings(project, forScripts), ...diskWarnings(project)]),
    permission,
    revision: projectRevision(project),
  });
}
