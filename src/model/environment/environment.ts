import { z } from "zod";
import { ruleText } from "../../reason/rule-text.ts";
import { httpUrl, label, strict, text } from "../../reason/schema-forms.ts";
import { deployRule, noApproval } from "../approval/deploy-rule.ts";
import { compileGlob, type MatchWork } from "../glob.ts";
import type { Pipeline } from "../pipeline.ts";
import { given } from "../service/given.ts";
import { domainSchema } from "../service/route.ts";
import { limitFields, serviceNameSchema } from "../service/service.ts";
import { variables } from "../settings/variables.ts";

/*
 * An environment is a place where a project serves: staging, production. The project has the source, the pipeline and the rules of
 * the webhook; each environment is a project of its own below it (`parentId`), with its own tasks, releases, services, secrets and
 * runner, so that all that serves is done in one way. What it is made of is a setting of the project: see environments.ts.
 */

export const maxEnvironments = 10;

export const environmentName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, ruleText("environment_name"))
  .meta({ example: "staging" });

const ref = text(256, 1).refine((value) => value.trim() === value, ruleText("blank"));

const serviceLimits = z.object(limitFields);

const environmentFields = {
  name: environmentName,
  refs: z
    .array(ref)
    .max(100)
    .meta({
      description:
        "Branches and tags that it takes: globs of short or full names. A ref goes to the first environment that takes it. Empty: it gets releases only by promotion, or by hand.",
      example: ["main", "refs/tags/v*"],
    }),
  from: environmentName.nullable().meta({
    description: "The environment whose releases are promoted to it; null: each other one.",
  }),
  env: variables.meta({ description: "Besides those of the project, which they hide." }),
  labels: z.array(label).max(32).nullable().meta({
    description: "A runner must have them to take its tasks; null: those of the project.",
  }),
  domains: z.record(domainSchema, domainSchema).meta({
    description: "The domains of the pipeline's routes that are others here.",
    example: { "shop.example.com": "staging.shop.example.com" },
  }),
  limits: z.record(serviceNameSchema, serviceLimits).meta({
    description: "Limits of services that are others here, by name of the service.",
  }),
  deploy: deployRule.nullable().meta({
    description: "Which deploys a person must approve; null: as the project says.",
  }),
  publicUrl: text(2000).refine(
    (value) => value === "" || httpUrl.safeParse(value).success,
    ruleText("url_not_http"),
  ),
};

export const environmentSchema = z.object(environmentFields).meta({ id: "Environment" });
export type Environment = z.infer<typeof environmentSchema>;

export const environmentDefaults: Omit<Environment, "name"> = {
  refs: [],
  from: null,
  env: {},
  labels: null,
  domains: {},
  limits: {},
  deploy: null,
  publicUrl: "",
};

/** As it is written. */
export const environmentFile = strict({
  ...environmentFields,
  limits: z.record(serviceNameSchema, strict(limitFields).partial()),
  deploy: strict(deployRule.shape).partial().nullable(),
})
  .partial()
  .required({ name: true });

/** What is not said has its default. */
export function environmentFrom({
  deploy,
  limits = {},
  ...sent
}: z.output<typeof environmentFile>): Environment {
  const named = Object.entries(limits).map(([name, sentLimits]) => [
    name,
    { memoryMb: null, cpus: null, processes: null, ...given(sentLimits) },
  ]);
  return {
    ...environmentDefaults,
    ...given(sent),
    name: sent.name,
    limits: Object.fromEntries(named),
    deploy: deploy ? { ...noApproval, ...given(deploy) } : null,
  };
}

export const environmentBody = environmentFile.transform(environmentFrom);

/** The environment that takes a ref, given by its names: the first one with a pattern that matches. */
export function environmentTaking(
  environments: readonly Environment[],
  names: readonly string[],
  work?: MatchWork,
): string | null {
  const isTaken = (pattern: string) => names.some((name) => compileGlob(pattern)(name, work));
  return environments.find(({ refs }) => refs.some(isTaken))?.name ?? null;
}

/** A pipeline as it is in an environment: its domains and limits are not stored with releases, which others may get. */
export function inEnvironment(pipeline: Pipeline, environment: Environment | null): Pipeline {
  if (environment === null || Array.isArray(pipeline.start)) return pipeline;
  const { domains, limits } = environment;
  const services = Object.entries(pipeline.start).map(([name, service]) => [
    name,
    {
      ...service,
      limits: { ...service.limits, ...set(limits[name] ?? {}) },
      routes: service.routes.map((route) => ({
        ...route,
        domains: route.domains.map((domain) => domains[domain] ?? domain),
      })),
    },
  ]);
  return { ...pipeline, start: Object.fromEntries(services) };
}

function set<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as Partial<T>;
}

/** The pipeline that a project runs. */
export function ownPipeline(project: { pipeline: Pipeline; environment: Environment | null }): Pipeline {
  return inEnvironment(project.pipeline, project.environment);
}

/** The project to which the source, the rules, the members and the credentials belong. */
export function ownerIdOf({ id, parentId }: { id: number; parentId: number | null }): number {
  return parentId ?? id;
}
