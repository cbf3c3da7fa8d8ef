import { z } from "zod";
import { newReason } from "../reason/reason.ts";
import { ruleText } from "../reason/rule-text.ts";
import { strict, text } from "../reason/schema-forms.ts";
import { given } from "./service/given.ts";
import { imageSchema } from "./service/image-name.ts";
import {
  checkBody,
  checkFaults,
  completeCheck,
  completeService,
  type FieldFault,
  type Service,
  serviceBody,
  serviceCheckSchema,
  serviceFaults,
  serviceNameSchema,
  serviceSchema,
} from "./service/service.ts";
import { type StageName, stageNames } from "./stage/stage-name.ts";

// The runner imports it from here.

/*
 * A pipeline is a value: the steps of each stage or the services of start, and the folders of a release. From the schemas here
 * derive the type, the stored JSON, the bodies and answers of the API, and the instruction to the runner. A new field of a step
 * is added to `stepFields` and `stepDefaults`, and to the place that uses it; one of a service to service.ts.
 */

const maxScript = 100_000;
const maxStepSeconds = 7 * 86_400;
const maxSteps = 50;
const maxServices = 20;
const maxFolders = 50;

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
  check: serviceCheckSchema.nullable().meta({
    description:
      "Must pass after the script, for steps of deploy and start that start something elsewhere. Null: none.",
  }),
  onRollback: z.boolean().meta({
    description:
      "Of a step of deploy: whether it runs again at a rollback to a release with services, which only starts these otherwise.",
  }),
  once: z.boolean().meta({
    description:
      "Of a step of deploy or start: whether it is left out at a rollback to a release without services, which runs these steps again otherwise.",
  }),
  pause: z.boolean().meta({
    description:
      "Of a step of deploy: whether new requests to the routes of the project wait while it runs, at most 30 seconds.",
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

/** Services by name, or steps that run to their end. */
const startSchema = z.union([z.array(stepSchema), z.record(serviceNameSchema, serviceSchema)]).meta({
  description:
    "Services by name, which the runner keeps running; or steps that run to their end, for what is started elsewhere.",
});

export const pipelineSchema = z
  .object({
    build: z.array(stepSchema),
    deploy: z.array(stepSchema),
    start: startSchema,
    ...releaseFields,
  })
  .meta({ id: "Pipeline" });
export type Pipeline = z.infer<typeof pipelineSchema>;
type Start = Pipeline["start"];

export const stepBodyFields = { ...stepFields, check: checkBody };
const stepBody = strict(stepBodyFields).partial();

/** A pipeline as it is written, of steps and services as they are written there. */
export function bodyOf<S extends z.ZodType, T extends z.ZodType>(step: S, service: T) {
  const steps = z.array(step).max(maxSteps);
  const services = z
    .record(serviceNameSchema, service)
    .refine(
      (named) => Object.keys(named).length <= maxServices,
      ruleText("at_most_entries", { limit: maxServices }),
    );
  return strict({
    build: steps,
    deploy: steps,
    start: z.union([steps, services], { error: () => ruleText("start_form") }),
    ...releaseFields,
  }).partial();
}

/** What a request sends: omitted lists and settings are unchanged, omitted fields of a step or a service have their defaults. */
export const pipelineBody = bodyOf(stepBody, serviceBody);
export type PipelineBody = z.infer<typeof pipelineBody>;
type StepBody = z.infer<typeof stepBody>;

type Unnamed<S> = Omit<S, "name">;

export const stepDefaults: Unnamed<Step> = {
  script: "",
  timeout: null,
  directory: "",
  image: "",
  network: "bridge",
  host: false,
  check: null,
  onRollback: false,
  once: false,
  pause: false,
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
    build: sent.build ? named("build", sent.build) : before.build,
    deploy: sent.deploy ? named("deploy", sent.deploy) : before.deploy,
    start: sent.start ? completeStart(sent.start) : before.start,
  };
}

function completeStart(sent: NonNullable<PipelineBody["start"]>): Start {
  if (Array.isArray(sent)) return named("start", sent);
  const services = Object.entries(sent);
  if (services.length === 0) return [];
  return Object.fromEntries(services.map(([name, service]) => [name, completeService(service)]));
}

/** Of a step without a name of its own. */
export function nameOfStep(stage: StageName, index: number, count: number): string {
  return count === 1 ? stage : `${stage}-${index + 1}`;
}

function named(stage: StageName, steps: StepBody[]): Step[] {
  return steps.map(({ check = null, ...step }, index) => ({
    ...stepDefaults,
    name: nameOfStep(stage, index, steps.length),
    ...given(step),
    check: check && completeCheck(check),
  }));
}

export type PipelineFault = FieldFault;

/** What is wrong with a pipeline whose fields are valid by themselves. */
export function pipelineFaults(pipeline: Pipeline): PipelineFault[] {
  const { data, scratch } = pipeline;
  const repeated = stageNames.flatMap((stage) => {
    const names = stepsOf(pipeline, stage).map(({ name }) => name);
    return names.flatMap((name, index) =>
      names.indexOf(name) === index
        ? []
        : [{ path: [stage, index, "name"], message: newReason("step_repeated", { name, stage }) }],
    );
  });
  const ofSteps = stageNames.flatMap((stage) =>
    stepsOf(pipeline, stage).flatMap((step, index) =>
      stepFaults(stage, step).map(({ path, message }) => ({ path: [stage, index, ...path], message })),
    ),
  );
  const hasRoutes = servicesOf(pipeline).some(({ routes }) => routes.length > 0);
  const pauses = pipeline.deploy.flatMap(({ pause }, index) =>
    pause && !hasRoutes ? [{ path: ["deploy", index, "pause"], message: newReason("pause_no_routes") }] : [],
  );
  const ofServices = serviceFaults(servicesOf(pipeline)).map(({ path, message }) => ({
    path: ["start", ...path],
    message,
  }));
  const folders = [...data.map(placed("data")), ...scratch.map(placed("scratch"))];
  const nested = folders.flatMap(({ path, folder: own }, index) => {
    const other = folders
      .slice(0, index)
      .find(({ folder: held }) => isWithin(own, held) || isWithin(held, own));
    return other ? [{ path, message: newReason("folders_overlap", { folder: other.folder }) }] : [];
  });
  return [...repeated, ...ofSteps, ...pauses, ...ofServices, ...nested];
}

/** The stages in which a field says something. */
const stagesOfField = {
  host: { stages: ["deploy", "start"], code: "only_deploy_start" },
  check: { stages: ["deploy", "start"], code: "only_deploy_start" },
  onRollback: { stages: ["deploy"], code: "only_deploy" },
  once: { stages: ["deploy", "start"], code: "only_deploy_start" },
  pause: { stages: ["deploy"], code: "only_deploy" },
} as const;

function stepFaults(stage: StageName, step: Step): PipelineFault[] {
  const misplaced = Object.entries(stagesOfField).flatMap(([field, { stages, code }]) =>
    !step[field as keyof typeof stagesOfField] || (stages as readonly StageName[]).includes(stage)
      ? []
      : [{ path: [field], message: newReason(code) }],
  );
  const ofCheck = step.check === null ? [] : checkFaults(step.check, "none");
  return [...misplaced, ...ofCheck.map(({ path, message }) => ({ path: ["check", ...path], message }))];
}

function placed(list: "data" | "scratch") {
  return (name: string, index: number) => ({ path: [list, index], folder: name });
}

function isWithin(inner: string, outer: string): boolean {
  return `${inner}/`.startsWith(`${outer}/`);
}

/** The steps of a stage; of a start with services: none. */
export function stepsOf(pipeline: Pipeline, stage: StageName): Step[] {
  const steps = pipeline[stage];
  return Array.isArray(steps) ? steps : [];
}

/** The steps of a stage that have a script. */
export function stepsToRun(pipeline: Pipeline, stage: StageName): Step[] {
  return stepsOf(pipeline, stage).filter(({ script }) => script.trim() !== "");
}

export type NamedService = Service & { name: string };

/** What stays up; of a start with steps: none. */
export function servicesOf({ start }: Pick<Pipeline, "start">): NamedService[] {
  return Array.isArray(start) ? [] : Object.entries(start).map(([name, service]) => ({ name, ...service }));
}

/** Whether anything would show that a release does not work: it stays up as a service, or a health check has asked it. */
export function isChecked(pipeline: Pipeline): boolean {
  if (servicesOf(pipeline).length > 0) return true;
  return stageNames.some((stage) => stepsToRun(pipeline, stage).some(({ check }) => check !== null));
}

/** What a stage runs, by name: its steps, or its services. */
export function runOf(pipeline: Pipeline, stage: StageName): (Step | NamedService)[] {
  return stage === "start" && !Array.isArray(pipeline.start)
    ? servicesOf(pipeline)
    : stepsToRun(pipeline, stage);
}

/** What runs when a release comes back: its services; or deploy and start once more, if it has none. */
export function atRollback(pipeline: Pipeline): Pipeline {
  const isRunAgain = Array.isArray(pipeline.start)
    ? ({ once }: Step) => !once
    : ({ onRollback }: Step) => onRollback;
  const { deploy, start } = pipeline;
  return {
    ...pipeline,
    deploy: deploy.filter(isRunAgain),
    start: Array.isArray(start) ? start.filter(isRunAgain) : start,
  };
}

/** What runs outside of the sandbox: steps, and scripts that switch a proxy. */
export function hostSteps(pipeline: Pipeline): (Step | NamedService)[] {
  return [
    ...stageNames.flatMap((stage) => stepsOf(pipeline, stage).filter(({ host }) => host)),
    ...servicesOf(pipeline).filter(({ switchOnHost }) => switchOnHost),
  ];
}

/** Whether a runner without containers must not get its tasks. It would ignore the image. */
export function needsContainer(image: string, pipeline: Pipeline): boolean {
  return stageNames
    .flatMap((stage) => runOf(pipeline, stage))
    .some((each) => image !== "" || each.image !== "");
}
