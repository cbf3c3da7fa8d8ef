import type { z } from "zod";
import { newReason } from "../../reason/reason.ts";
import { strict } from "../../reason/schema-forms.ts";
import { type Pipeline, type PipelineFault, type Step, stepDefaults, stepSchema } from "../pipeline.ts";
import { type StageName, stageNames } from "./stage-name.ts";
import { startRulesSchema } from "./start-rules.ts";
import { startOf, startStageDefaults, startStageFaults, stageOf as startStageOf } from "./start-stage.ts";

/*
 * `stages` of the API, as version 1.0 had it: one script in each stage. Its fields do not grow. A pipeline that says more
 * has no `stages`.
 */

const stageFields = { script: true, timeout: true, directory: true, image: true, network: true } as const;
/** Left out of answers while they have their default. */
const optionalFields = { directory: true, image: true, network: true } as const;

const stage = stepSchema.pick(stageFields);
type Stage = z.infer<typeof stage>;
const startStage = stage.extend(startRulesSchema.shape);

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
  const [build, deploy, start] = [
    stageOf("build", pipeline),
    stageOf("deploy", pipeline),
    startStageOf(pipeline.start),
  ];
  if (build === null || deploy === null || start === null) return null;
  return { build: written(build), deploy: written(deploy), start: written(start) };
}

/** What `stages` cannot change, because there is more than it can say, and what it says that is no more. */
export function stageFaults(before: Pipeline, sent: StagesBody): PipelineFault[] {
  const held = {
    build: stageOf("build", before),
    deploy: stageOf("deploy", before),
    start: startStageOf(before.start),
  };
  const ofSteps = stageNames
    .filter((name) => sent[name] !== undefined && held[name] === null)
    .map((name) => ({ path: [name], message: newReason("stage_of_steps") }));
  const ofStart = sent.start ? startStageFaults(merged(held.start ?? startStageDefaults, sent.start)) : [];
  return [...ofSteps, ...ofStart.map(({ path, message }) => ({ path: ["start", ...path], message }))];
}

/** The pipeline after a change of `stages`: what was not sent stays. */
export function withStages(before: Pipeline, sent: StagesBody): Pipeline {
  const start = startStageOf(before.start);
  return {
    ...before,
    build: sent.build
      ? stepOf("build", merged(stageOf("build", before) ?? stepDefaults, sent.build))
      : before.build,
    deploy: sent.deploy
      ? stepOf("deploy", merged(stageOf("deploy", before) ?? stepDefaults, sent.deploy))
      : before.deploy,
    start: sent.start ? startOf(merged(start ?? startStageDefaults, sent.start)) : before.start,
  };
}

/** Null: it has more than one step with the name of the stage and the fields of `stages` alone. */
function stageOf(name: Exclude<StageName, "start">, pipeline: Pipeline): Stage | null {
  const steps = pipeline[name];
  const held = Object.entries(steps[0] ?? stepDefaults).filter(([field]) => field in stage.shape);
  const own = Object.fromEntries(held) as Stage;
  return Bun.deepEquals(stepOf(name, own), steps) ? own : null;
}

function stepOf(name: StageName, sent: Stage): Step[] {
  const step = { ...stepDefaults, ...sent, name };
  return Bun.deepEquals(step, { ...stepDefaults, name }) ? [] : [step];
}

function merged<S extends object>(held: S, sent: { [K in keyof S]?: S[K] | undefined }): S {
  const given = Object.entries(sent).filter(([, value]) => value !== undefined);
  return { ...held, ...Object.fromEntries(given) };
}

function written<S extends Stage>(own: S): Omit<S, keyof typeof optionalFields> & Partial<Stage> {
  const entries = Object.entries(own).filter(
    ([field, value]) =>
      !(field in optionalFields && value === stepDefaults[field as keyof typeof stepDefaults]),
  );
  return Object.fromEntries(entries) as Omit<S, keyof typeof optionalFields> & Partial<Stage>;
}
