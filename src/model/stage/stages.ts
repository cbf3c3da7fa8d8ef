import type { z } from "zod";
import { newReason } from "../../reason/reason.ts";
import { strict } from "../../reason/schema-forms.ts";
import {
  type Pipeline,
  type PipelineFault,
  type StartStep,
  type Step,
  startDefaults,
  startStepSchema,
  stepDefaults,
  stepSchema,
} from "../pipeline.ts";
import { type StageName, stageNames } from "./stage-name.ts";

/*
 * `stages` of the API, as version 1.0 had it: one script in each stage. Its fields do not grow. A pipeline that says more
 * has no `stages`.
 */

const stageFields = { script: true, timeout: true, directory: true, image: true, network: true } as const;
const startFields = {
  healthCheck: true,
  previous: true,
  settleSeconds: true,
  log: true,
  switch: true,
} as const;
/** Left out of answers while they have their default. */
const optionalFields = { directory: true, image: true, network: true } as const;

const stage = stepSchema.pick(stageFields);
const startStage = startStepSchema.pick({ ...stageFields, ...startFields });

const stageBody = strict(stage.shape).partial();
export const stagesBody = strict({
  build: stageBody,
  deploy: stageBody,
  start: strict(startStage.shape).partial(),
}).partial();
export type StagesBody = z.infer<typeof stagesBody>;

const stageSchema = stage.partial(optionalFields);
export const stagesSchema = stagesBody.extend({
  build: stageSchema,
  deploy: stageSchema,
  start: startStage.partial(optionalFields),
});
export type Stages = z.infer<typeof stagesSchema>;

/** Null: the pipeline says more than `stages` can. */
export function stagesOf(pipeline: Pipeline): Stages | null {
  const { build, deploy, start } = pipeline;
  if (!stageNames.every((name) => isExpressible(name, pipeline))) return null;
  return {
    build: written(stage, build[0] ?? stepDefaults),
    deploy: written(stage, deploy[0] ?? stepDefaults),
    start: written(startStage, start[0] ?? startDefaults),
  };
}

/** Which stages `stages` cannot change, because they have more than it can say. */
export function stageFaults(before: Pipeline, sent: StagesBody): PipelineFault[] {
  return stageNames
    .filter((name) => sent[name] !== undefined && !isExpressible(name, before))
    .map((name) => ({ path: [name], message: newReason("stage_of_steps") }));
}

/** The pipeline after a change of `stages`: what was not sent stays. */
export function withStages(before: Pipeline, sent: StagesBody): Pipeline {
  return {
    ...before,
    build: merged("build", stepDefaults, before.build, sent.build),
    deploy: merged("deploy", stepDefaults, before.deploy, sent.deploy),
    start: merged("start", startDefaults, before.start, sent.start),
  };
}

/** Whether one step with the name of the stage and fields of `stages` alone is all that the stage has. */
function isExpressible(name: StageName, pipeline: Pipeline): boolean {
  const [step, ...more] = pipeline[name];
  if (step === undefined) return true;
  const { shape } = name === "start" ? startStage : stage;
  const defaults: Partial<Step & StartStep> = name === "start" ? startDefaults : stepDefaults;
  const others = Object.entries(step).filter(([field]) => !(field in shape) && field !== "name");
  const isPlain = others.every(([field, value]) => isSame(value, defaults[field as keyof typeof defaults]));
  return more.length === 0 && step.name === name && isPlain;
}

function merged<D extends object>(
  name: StageName,
  defaults: D,
  held: (D & { name: string })[],
  sent: { [K in keyof D]?: D[K] | undefined } | undefined,
): (D & { name: string })[] {
  if (sent === undefined) return held;
  const step = { ...defaults, ...held[0], name };
  for (const [field, value] of Object.entries(sent))
    if (value !== undefined) Object.assign(step, { [field]: value });
  return isSame(step, { ...defaults, name }) ? [] : [step];
}

function written<S extends z.ZodRawShape, T extends object>({ shape }: z.ZodObject<S>, step: T) {
  const entries = Object.entries(step).filter(
    ([field, value]) =>
      field in shape &&
      !(field in optionalFields && value === stepDefaults[field as keyof typeof stepDefaults]),
  );
  return Object.fromEntries(entries) as Pick<T, keyof S & keyof T>;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
