import { z } from "zod";
import { newReason, type Reason } from "../reason/reason.ts";
import { ruleText } from "../reason/rule-text.ts";
import { httpUrl, strict, text } from "../reason/schema-forms.ts";
import { type StageName, stageNames } from "./stage/stage-name.ts";

/*
 * A pipeline is a value: the steps of each stage, and the folders of a release. From the schemas here derive the type, the
 * stored JSON, the bodies and answers of the API, and the instruction to the runner. A new field of a step is added to
 * `stepFields` and `stepDefaults`, and to the place that uses it.
 */

const maxScript = 100_000;
const maxStepSeconds = 7 * 86_400;
const maxSettleSeconds = 600;
const maxSteps = 50;
const maxFolders = 50;

/** As engines write it: host, path, tag or digest. It must not begin with a dash, which would be an option. */
const imageRule =
  /^[a-z0-9][\w.-]*(:\d{1,5})?(\/[a-z0-9][\w.-]*)*(:[\w][\w.-]{0,127})?(@[a-z0-9]+:[0-9a-f]{32,128})?$/i;

export const imageSchema = text(300)
  .refine((value) => value === "" || imageRule.test(value), ruleText("image_invalid"))
  .meta({ description: "Container image; empty: the project's.", example: "node:22" });

export const stepName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, ruleText("step_name"))
  .meta({
    description:
      "Unique in its stage. Without it, a single step has the name of its stage, and several steps are numbered.",
    example: "test",
  });

const stepFields = {
  name: stepName,
  script: text(maxScript).meta({
    description: "Empty: the step is skipped.",
    example: "npm ci && npm run build",
  }),
  timeout: z
    .number()
    .int()
    .min(1)
    .max(maxStepSeconds)
    .nullable()
    .meta({ description: "Seconds; null: the setting tasks.timeout.", example: 600 }),
  directory: text(500)
    .refine((path) => !path.startsWith("/") && !path.split("/").includes(".."), ruleText("folder_outside"))
    .meta({ description: "Folder of the repository where the script runs; empty: its root." }),
  image: imageSchema,
  network: z
    .enum(["bridge", "none"])
    .meta({ description: "`none`: the script has no network, which needs a sandbox or a container." }),
  host: z.boolean().meta({
    description:
      "Whether the script runs outside of the sandbox, as the runner's user. For steps of deploy and start; only an administrator may set or change such a step.",
  }),
};

const timeoutSeconds = z.number().int().min(1).max(3600).default(60);

export const healthCheckSchema = z
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
      // `$PORT` is filled in when the check runs.
      url: text(2000).refine(
        (value) => httpUrl.safeParse(value.replace(/\$(PORT\b|\{PORT\})/, "1")).success,
        ruleText("url_not_http"),
      ),
      timeoutSeconds,
      expect: text(1000, 1)
        .optional()
        .meta({ description: "Text that the response must contain.", example: "$CI_COMMIT" }),
    }),
  ])
  .nullable()
  .meta({ id: "HealthCheck" });
export type HealthCheck = NonNullable<z.infer<typeof healthCheckSchema>>;

/** Of a step of start, in addition. */
const startFields = {
  healthCheck: healthCheckSchema,
  previous: z.enum(["stop-first", "stop-after-healthy", "keep"]).meta({
    description:
      "The service of the previous release: `stop-first` ends it before the script runs; `stop-after-healthy` runs both, on a port that the runner chooses ($PORT), and ends it at last; `keep` leaves it to the script.",
  }),
  settleSeconds: z.number().int().min(0).max(maxSettleSeconds).meta({
    description: "Without a health check, processes that the script started must live for this long.",
  }),
  log: text(500)
    .refine((path) => !path.startsWith("/") && !path.split("/").includes(".."), ruleText("log_outside"))
    .meta({ description: "Log file of the service; its first minute is shown with the task." }),
  switch: text(maxScript).meta({
    description:
      "With `stop-after-healthy`: runs when the new service is healthy, to point a proxy to its $PORT.",
  }),
};

const folder = text(300, 1).refine(
  (path) =>
    !path.startsWith("/") &&
    path.split("/").every((part) => part !== ".." && part !== "." && part !== "") &&
    path.split("/")[0] !== ".git",
  ruleText("release_folder"),
);

const releaseFields = {
  data: z
    .array(folder)
    .max(maxFolders)
    .meta({ description: "Folders of the repository that survive releases.", example: ["uploads"] }),
  scratch: z
    .array(folder)
    .max(maxFolders)
    .meta({
      description: "Folders that a release may write to, empty at its start.",
      example: [".next/cache"],
    }),
  sealed: z.boolean().meta({
    description:
      "Whether deploy and start can only read the release, except `data` and `scratch`. True for new projects.",
  }),
};

export const stepSchema = z.object(stepFields);
export type Step = z.infer<typeof stepSchema>;

export const startRulesSchema = z.object(startFields);
type StartRules = z.infer<typeof startRulesSchema>;

export const startStepSchema = z.object({ ...stepFields, ...startFields });
export type StartStep = z.infer<typeof startStepSchema>;

export const pipelineSchema = z
  .object({
    build: z.array(stepSchema),
    deploy: z.array(stepSchema),
    start: z.array(startStepSchema),
    ...releaseFields,
  })
  .meta({ id: "Pipeline" });
export type Pipeline = z.infer<typeof pipelineSchema>;

const stepBody = strict(stepFields).partial();
const startBody = strict({ ...stepFields, ...startFields }).partial();

/** What a request sends: omitted lists and settings are unchanged, omitted fields of a step have their defaults. */
export const pipelineBody = strict({
  build: z.array(stepBody).max(maxSteps),
  deploy: z.array(stepBody).max(maxSteps),
  start: z.array(startBody).max(1),
  ...releaseFields,
}).partial();
export type PipelineBody = z.infer<typeof pipelineBody>;

type Unnamed<S> = Omit<S, "name">;

export const stepDefaults: Unnamed<Step> = {
  script: "",
  timeout: null,
  directory: "",
  image: "",
  network: "bridge",
  host: false,
};

export const startDefaults: Unnamed<StartStep> = {
  ...stepDefaults,
  healthCheck: null,
  previous: "stop-first",
  settleSeconds: 5,
  log: "",
  switch: "",
};

/** The pipeline of a new project. */
export const emptyPipeline: Pipeline = {
  build: [],
  deploy: [],
  start: [],
  data: [],
  scratch: [],
  sealed: true,
};

/** The whole value: what was not sent stays as before, or has its default. */
export function completePipeline(sent: PipelineBody, before = emptyPipeline): Pipeline {
  return {
    ...before,
    ...given(sent),
    build: sent.build ? named("build", sent.build, stepDefaults) : before.build,
    deploy: sent.deploy ? named("deploy", sent.deploy, stepDefaults) : before.deploy,
    start: sent.start ? named("start", sent.start, startDefaults) : before.start,
  };
}

type Sent<S> = { [K in keyof S]?: S[K] | undefined } & { name?: string | undefined };

function named<D extends object>(stage: StageName, steps: Sent<D>[], defaults: D): (D & { name: string })[] {
  const nameOf = (index: number) => (steps.length === 1 ? stage : `${stage}-${index + 1}`);
  return steps.map((step, index) => ({ ...defaults, name: nameOf(index), ...given(step) }));
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function given<T extends object>(sent: T): Given<T> {
  return Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)) as Given<T>;
}

/** What is wrong with a pipeline whose fields are valid by themselves. */
export interface PipelineFault {
  path: (string | number)[];
  message: Reason;
}

export function pipelineFaults(pipeline: Pipeline): PipelineFault[] {
  const { build, start, data, scratch } = pipeline;
  const repeated = stageNames.flatMap((stage) => {
    const names = pipeline[stage].map(({ name }) => name);
    return names.flatMap((name, index) =>
      names.indexOf(name) === index
        ? []
        : [{ path: [stage, index, "name"], message: newReason("step_repeated", { name, stage }) }],
    );
  });
  const onHost = build.flatMap(({ host }, index) =>
    host ? [{ path: ["build", index, "host"], message: newReason("host_build") }] : [],
  );
  const switches = start.flatMap((step, index) =>
    step.switch.trim() !== "" && step.previous !== "stop-after-healthy"
      ? [{ path: ["start", index, "switch"], message: newReason("switch_alone") }]
      : [],
  );
  const folders = [...data.map(placed("data")), ...scratch.map(placed("scratch"))];
  const nested = folders.flatMap(({ path, folder: own }, index) => {
    const other = folders
      .slice(0, index)
      .find(({ folder: held }) => isWithin(own, held) || isWithin(held, own));
    return other ? [{ path, message: newReason("folders_overlap", { folder: other.folder }) }] : [];
  });
  return [...repeated, ...onHost, ...switches, ...nested];
}

function placed(list: "data" | "scratch") {
  return (name: string, index: number) => ({ path: [list, index], folder: name });
}

function isWithin(inner: string, outer: string): boolean {
  return `${inner}/`.startsWith(`${outer}/`);
}

/** The steps of a stage that have a script. */
export function stepsToRun<N extends StageName>(pipeline: Pipeline, stage: N): Pipeline[N] {
  return pipeline[stage].filter(({ script }) => script.trim() !== "") as Pipeline[N];
}

/** The fields that every step has, and the rules of a step of start. */
export function splitStep(step: Step | StartStep): { step: Step; start: StartRules | null } {
  const entries = Object.entries(step);
  const own = entries.filter(([field]) => field in stepFields);
  const rules = entries.filter(([field]) => field in startFields);
  return {
    step: Object.fromEntries(own) as Step,
    start: rules.length === 0 ? null : (Object.fromEntries(rules) as StartRules),
  };
}

/** The steps that run outside of the sandbox. */
export function hostSteps(pipeline: Pipeline): Step[] {
  return stageNames.flatMap((stage): Step[] => pipeline[stage].filter(({ host }) => host));
}

/** Whether a runner without containers must not get its tasks. It would ignore the image. */
export function needsContainer(image: string, pipeline: Pipeline): boolean {
  return stageNames
    .flatMap((stage): Step[] => stepsToRun(pipeline, stage))
    .some((step) => image !== "" || step.image !== "");
}
