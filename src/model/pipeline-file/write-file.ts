import { stringify } from "yaml";
import {
  type NamedService,
  nameOfStep,
  type Pipeline,
  type Step,
  servicesOf,
  stepDefaults,
  stepsOf,
} from "../pipeline.ts";
import { type Route, routeDefaults } from "../service/route.ts";
import { checkDefaults, type ServiceCheck, serviceDefaults } from "../service/service.ts";
import { type StageName, stageNames } from "../stage/stage-name.ts";
import { besideFile, type FileSource } from "./file-source.ts";

type Fields = Record<string, unknown>;

/** The file that says the pipeline; what only the project can say is in a comment at its beginning. */
export function writePipelineFile(pipeline: Pipeline): string {
  const { sealed, ...lists } = writtenPipeline(withoutProjectSettings(pipeline));
  const value = {
    ...Object.fromEntries(Object.entries(lists).filter(([, written]) => Object.keys(written).length > 0)),
    ...(sealed ? {} : { sealed }),
  };
  const text = Object.keys(value).length > 0 ? stringify(value, { lineWidth: 0 }) : "build: []\n";
  return `${comment(besideFile(pipeline))}${text}`;
}

/** The pipeline as people write it: of steps, services, checks and routes only what differs from its default. */
export function writtenPipeline(pipeline: Pipeline) {
  const stages = stageNames.map((stage) => [stage, writtenStage(pipeline, stage)] as const);
  const { data, scratch, sealed } = pipeline;
  return { ...(Object.fromEntries(stages) as Record<StageName, object>), data, scratch, sealed };
}

/** Without what a file of the repository cannot say. */
function withoutProjectSettings(pipeline: Pipeline): Pipeline {
  const ofSteps = (steps: Step[]) =>
    steps.map((step) => ({ ...step, host: stepDefaults.host, network: stepDefaults.network }));
  const ofService = ({ name, port, ...service }: NamedService) => {
    const { switchOnHost, network } = serviceDefaults;
    const ownPort = typeof port === "number" ? serviceDefaults.port : port;
    return [name, { ...service, port: ownPort, switchOnHost, network }] as const;
  };
  const { build, deploy, start } = pipeline;
  return {
    ...pipeline,
    build: ofSteps(build),
    deploy: ofSteps(deploy),
    start: Array.isArray(start)
      ? ofSteps(start)
      : Object.fromEntries(servicesOf(pipeline).map((service) => ofService(service))),
  };
}

function comment({ ports, withoutNetwork }: Omit<FileSource, "path">): string {
  const said = [
    ...Object.entries(ports).map(([name, port]) => `the port ${port} of ${name}`),
    ...withoutNetwork.map((name) => `no network for ${name}`),
  ];
  return said.length === 0 ? "" : `# These stay settings of the project: ${said.join(", ")}.\n`;
}

function writtenStage(pipeline: Pipeline, stage: StageName): object {
  if (stage === "start" && !Array.isArray(pipeline.start))
    return Object.fromEntries(servicesOf(pipeline).map((service) => [service.name, writtenService(service)]));
  const steps = stepsOf(pipeline, stage);
  return steps.map((step, index) => writtenStep(step, nameOfStep(stage, index, steps.length)));
}

function writtenStep({ name, check, ...step }: Step, ownName: string): Fields {
  return {
    ...(name === ownName ? {} : { name }),
    ...changed(step, stepDefaults),
    ...writtenCheck(check),
  };
}

function writtenService({ name: _name, port, check, limits, routes, ...fields }: NamedService): Fields {
  return {
    ...changed(fields, serviceDefaults),
    ...changed({ port }, serviceDefaults),
    ...writtenCheck(check),
    ...whole({ limits: changed(limits, serviceDefaults.limits) }),
    ...(routes.length > 0 ? { routes: routes.map(writtenRoute) } : {}),
  };
}

function writtenCheck(check: ServiceCheck | null): Fields {
  return check === null ? {} : { check: changed(check, checkDefaults) };
}

function writtenRoute({ domains, ...route }: Route): Fields {
  return { domains, ...changed(route, routeDefaults) };
}

/** The fields that differ from their defaults. */
function changed(fields: object, defaults: object): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !Bun.deepEquals(value, Reflect.get(defaults, name))),
  );
}

function whole(fields: Record<string, Fields>): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => Object.keys(value).length > 0));
}
