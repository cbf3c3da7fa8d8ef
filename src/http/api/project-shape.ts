import { Fault } from "../../errors.ts";
import { type GitUrlRules, gitUrlFault } from "../../model/git/git-url.ts";
import type { Permission } from "../../model/permission.ts";
import {
  type Project,
  type ProjectSecret,
  projectRevision,
  type Stage,
  type StageName,
  secretScopes,
} from "../../model/project.ts";
import { isReservedSecret, reservedSecrets } from "../../model/sealed.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { deployRuleBody, deployRuleShape } from "./approval-shape.ts";
import {
  executionBody,
  executionShape,
  mergeStageContainer,
  stageContainerBody,
  stageContainerShape,
} from "./execution-shape.ts";
import {
  commitStatusBody,
  commitStatusShape,
  httpUrl,
  notifyTargetBody,
  notifyTargetJson,
  notifyTargetShape,
} from "./notify-shape.ts";
import { reasonPartsShape, warningPartsShape, withWarnings } from "./reason-shape.ts";
import { revision } from "./revision.ts";
import { label } from "./runners.ts";
import { gitRef, id, name, ownPermission, text, time } from "./scalars.ts";
import { jsonOf, listOf, onlyGiven, strict, z } from "./shape.ts";
import { mergeStart, startFields, startJson, startShape } from "./start-shape.ts";

const maxScript = 100_000;
const maxStageSeconds = 7 * 86_400;
const maxVariables = 200;

const script = text(maxScript).openapi({ example: "npm ci && npm run build" });
const timeoutSeconds = z.number().int().min(1).max(3600).default(60);
const stageTimeout = z
  .number()
  .int()
  .min(1)
  .max(maxStageSeconds)
  .nullable()
  .openapi({ description: "Seconds; null: the setting tasks.timeout.", example: 600 });

/** `$PORT` is filled in when the check runs. */
const checkedUrl = text(2000).refine(
  (value) => httpUrl.safeParse(value.replace(/\$(PORT\b|\{PORT\})/, "1")).success,
  ruleText("url_not_http"),
);

export const healthCheck = z
  .discriminatedUnion("type", [
    strict({ type: z.literal("command"), command: text(10_000, 1), timeoutSeconds }),
    strict({
      type: z.literal("tcp"),
      host: text(255, 1).regex(/^[\w.:-]+$/, ruleText("host_invalid")),
      port: z.union([z.number().int().min(1).max(65_535), z.literal("$PORT")]),
      timeoutSeconds,
    }),
    strict({
      type: z.literal("http"),
      url: checkedUrl,
      timeoutSeconds,
      expect: text(1000, 1)
        .optional()
        .openapi({ description: "Text that the response must contain.", example: "$CI_COMMIT" }),
    }),
  ])
  .nullable()
  .openapi("HealthCheck");

const directory = text(500)
  .refine((path) => !path.startsWith("/") && !path.split("/").includes(".."), ruleText("folder_outside"))
  .openapi({ description: "Folder of the repository where the script runs; empty: its root." });

const stageBody = strict({
  script: script.optional(),
  timeout: stageTimeout.optional(),
  directory: directory.optional(),
  ...stageContainerBody,
});
const startBody = strict({ ...stageBody.shape, ...startFields, healthCheck: healthCheck.optional() });

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

const rollback = z.enum(["automatic", "off"]).openapi({
  description:
    "Whether the previous release comes back by itself when deploy, start or the health check fails.",
});

const defaultNotify = z.boolean().openapi({
  description: "Whether the default target of the installation receives its messages too.",
});

const publicUrl = text(2000)
  .refine((value) => value === "" || httpUrl.safeParse(value).success, ruleText("url_not_http"))
  .openapi({
    description: "Where users reach what the project serves: the link “Visit” of the console. Empty: none.",
    example: "https://shop.example.com",
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
    stages: strict({
      build: stageBody.optional(),
      deploy: stageBody.optional(),
      start: startBody.optional(),
    }).optional(),
    env: env.optional(),
    notify: z.array(notifyTargetBody).max(20).optional(),
    defaultNotify: defaultNotify.optional(),
    commitStatus: commitStatusBody.optional(),
    labels: z.array(label).max(32).optional(),
    supersede: supersede.optional(),
    deploy: deployRuleBody.optional(),
    ...executionBody,
    rollback: rollback.optional(),
    publicUrl: publicUrl.optional(),
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

type StagesBody = z.infer<ReturnType<typeof projectBodies>["update"]>["stages"];

const noStage: Stage = { script: "", timeout: null };

/** The stages after a change: what was not sent stays. */
export function mergeStages(before: Project["stages"] | null, body: StagesBody): Project["stages"] {
  const stage = (name: StageName): Stage => {
    const held = before?.[name] ?? noStage;
    const sent = body?.[name];
    return {
      script: sent?.script ?? held.script,
      timeout: sent?.timeout === undefined ? held.timeout : sent.timeout,
      ...directoryOf(sent?.directory ?? held.directory),
      ...mergeStageContainer(held, sent),
    };
  };
  const check = body?.start?.healthCheck;
  const healthCheck = check === undefined ? (before?.start.healthCheck ?? null) : check;
  const { previous, settleSeconds, log, switch: switchScript } = body?.start ?? {};
  const sent = onlyGiven({ previous, settleSeconds, log, switch: switchScript });
  const start = { ...stage("start"), ...mergeStart(before?.start ?? null, sent), healthCheck };
  if (start.switch && start.previous !== "stop-after-healthy")
    throw new Fault("invalid", newReason("switch_use"), {
      fields: [{ field: "stages.start.switch", message: newReason("switch_alone") }],
    });
  return { build: stage("build"), deploy: stage("deploy"), start };
}

function directoryOf(directory: string | undefined): { directory?: string } {
  return directory ? { directory } : {};
}

const stageShape = z.object({
  script: z.string(),
  timeout: stageTimeout,
  directory: directory.optional(),
  ...stageContainerShape,
});

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
    stages: z.object({
      build: stageShape,
      deploy: stageShape,
      start: stageShape.extend({ ...startShape, healthCheck }),
    }),
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
    publicUrl,
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
) {
  const { build, deploy, start } = project.stages;
  const stage = (held: Stage) => ({
    script: held.script,
    timeout: held.timeout,
    ...directoryOf(held.directory),
    ...mergeStageContainer(held, undefined),
  });
  const names = secrets.map((secret) => secret.name);
  const forScripts = secrets.filter(({ name }) => !isReservedSecret(name));
  return jsonOf(projectShape, {
    ...project,
    git: {
      ...project.git,
      lfs: project.git.lfs ?? false,
      credentialSet: names.includes(reservedSecrets.credential),
    },
    stages: {
      build: stage(build),
      deploy: stage(deploy),
      start: { ...stage(start), ...startJson(start), healthCheck: start.healthCheck ?? null },
    },
    secretNames: forScripts.map(({ name }) => name),
    secrets: forScripts.map(({ name, scope }) => ({
      ...{ name, scope: scope ?? "all", isScopeChosen: scope !== null },
    })),
    notify: project.notify.map(notifyTargetJson),
    ...reasonJson({ liveNote: project.liveNote }),
    ...withWarnings(secretWarnings(project, forScripts)),
    permission,
    revision: projectRevision(project),
  });
}
