import { z } from "zod";
import { newReason } from "../../reason/reason.ts";
import { text } from "../../reason/schema-forms.ts";
import { hostSteps, type Pipeline, type Step, servicesOf, stepsOf } from "../pipeline.ts";
import { type FieldFault, type Service, serviceNameSchema } from "../service/service.ts";
import { type StageName, stageNames, stepTitle } from "../stage/stage-name.ts";
import { filePath } from "./file-path.ts";

/** A project whose pipeline is in a file of its repository, with what the file cannot say. */
export const fileSource = z.object({
  path: filePath,
  ports: z
    .record(serviceNameSchema, z.number().int().min(1).max(65_535))
    .meta({ description: "Fixed ports of services of the file.", example: { web: 3000 } }),
  withoutNetwork: z.array(text(100, 1)).max(100).meta({
    description: "Steps and services of the file that have no network, such as `build/test` or `start/web`.",
  }),
});
export type FileSource = z.infer<typeof fileSource>;

/** What a pipeline says that its file cannot: a project that changes to a file keeps it. */
export function besideFile(pipeline: Pipeline): Omit<FileSource, "path"> {
  const ports = servicesOf(pipeline).flatMap(({ name, port }) =>
    typeof port === "number" ? [[name, port] as const] : [],
  );
  return {
    ports: Object.fromEntries(ports),
    withoutNetwork: runs(pipeline).flatMap(({ title, run }) => (run.network === "none" ? [title] : [])),
  };
}

/** The pipeline of the file with what the project says beside it. Each setting must be about something in the file. */
export function withProjectSettings(
  pipeline: Pipeline,
  { ports, withoutNetwork }: FileSource,
): { pipeline: Pipeline; faults: FieldFault[] } {
  const known = runs(pipeline).map(({ title }) => title);
  const services = servicesOf(pipeline).map(({ name }) => name);
  const faults = [
    ...Object.keys(ports)
      .filter((name) => !services.includes(name))
      .map((name) => ({ path: ["start"], message: newReason("file_port_of", { name }) })),
    ...withoutNetwork
      .filter((title) => !known.includes(title))
      .map((title) => ({
        path: [title.split("/")[0] ?? ""],
        message: newReason("file_network_of", { title }),
      })),
  ];
  const networkOf = (title: string) => (withoutNetwork.includes(title) ? ({ network: "none" } as const) : {});
  const ofSteps = (stage: StageName, steps: Step[]) =>
    steps.map((step) => ({ ...step, ...networkOf(stepTitle(stage, step.name)) }));
  const ofService = ([name, service]: [string, Service]) => {
    const port = ports[name] ?? service.port;
    return [name, { ...service, port, ...networkOf(`start/${name}`) }] as const;
  };
  const { build, deploy, start } = pipeline;
  return {
    faults,
    pipeline: {
      ...pipeline,
      build: ofSteps("build", build),
      deploy: ofSteps("deploy", deploy),
      start: Array.isArray(start)
        ? ofSteps("start", start)
        : Object.fromEntries(Object.entries(start).map(ofService)),
    },
  };
}

/** What of a pipeline cannot be in a file: only an administrator may change it, and whoever can push can change the file. */
export function keptOutOfFile(pipeline: Pipeline): string[] {
  return hostSteps(pipeline).map(({ name }) => name);
}

function runs(pipeline: Pipeline) {
  return [
    ...stageNames.flatMap((stage) =>
      stepsOf(pipeline, stage).map((run) => ({ title: stepTitle(stage, run.name), run })),
    ),
    ...servicesOf(pipeline).map((run) => ({ title: `start/${run.name}`, run })),
  ];
}
