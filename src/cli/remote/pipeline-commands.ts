import type { Command } from "commander";
import { Fault } from "../../errors.ts";
import type { FileFaultAnswer } from "../../http/api/pipeline-checks.ts";
import type { ProjectAnswer } from "../../http/api/project-shape.ts";
import { type Pipeline, runOf } from "../../model/pipeline.ts";
import { defaultFilePath } from "../../model/pipeline-file/file-path.ts";
import { keptOutOfFile } from "../../model/pipeline-file/file-source.ts";
import { readPipelineFile } from "../../model/pipeline-file/read-file.ts";
import { writePipelineFile } from "../../model/pipeline-file/write-file.ts";
import { stageNames } from "../../model/stage/stage-name.ts";
import { textValue } from "../option-values.ts";
import { print } from "../output.ts";
import { textOfFile, wrongFile } from "./file-faults.ts";
import { addRemote, apiRemote, projectPath, type RemoteOptions } from "./remote.ts";

/** `pipeline check` and `pipeline export`: the pipeline of a project as a file of its repository. */
export function addPipelineCommands(program: Command): void {
  const pipeline = program.command("pipeline").description("the pipeline of a project as a file");
  addRemote(pipeline.command("check [file]"))
    .description(`report every mistake in a pipeline file (${defaultFilePath}) with its line and column`)
    .option("--project <project>", "ask the server too what this project does not allow", textValue)
    .action((file: string | undefined, options: CheckOptions) => check(file ?? defaultFilePath, options));
  addRemote(pipeline.command("export <project>"))
    .description("print the pipeline that a project has now as a file, to move it to the repository")
    .action(exportFile);
}

type CheckOptions = RemoteOptions & { project?: string };

async function check(file: string, options: CheckOptions): Promise<void> {
  const read = readPipelineFile(textOfFile(file));
  if (Array.isArray(read)) throw wrongFile(file, read, options);
  if (options.project !== undefined) {
    const api = apiRemote(options);
    const path = `${await projectPath(api, options.project)}/pipeline/check`;
    const { faults } = await api.send<{ faults: FileFaultAnswer[] }>("POST", path, read.pipeline);
    const refused = faults.map((fault) => read.faultAt(fault.path, fault.message));
    if (refused.length > 0) throw wrongFile(file, refused, options);
  }
  print(
    options,
    { ok: true, pipeline: read.pipeline },
    () => `${file} is right: ${contents(read.pipeline)}.`,
  );
}

/** `build (test, bundle), start (web)` */
function contents(pipeline: Pipeline): string {
  const stages = stageNames.flatMap((stage) => {
    const names = runOf(pipeline, stage).map(({ name }) => name);
    return names.length === 0 ? [] : [`${stage} (${names.join(", ")})`];
  });
  return stages.join(", ") || "it runs nothing";
}

async function exportFile(name: string, options: RemoteOptions): Promise<void> {
  const api = apiRemote(options);
  const { pipeline } = await api.get<ProjectAnswer>(await projectPath(api, name));
  const kept = keptOutOfFile(pipeline);
  if (kept.length > 0)
    throw new Fault(
      "conflict",
      `The pipeline of ${name} cannot be a file: ${kept.join(", ")} runs outside of the sandbox. Change that in the project first.`,
    );
  const file = writePipelineFile(pipeline);
  print(options, { file }, () => file.trimEnd());
}
