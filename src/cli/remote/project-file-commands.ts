import type { Command } from "commander";
import { textValue } from "../option-values.ts";
import { print } from "../output.ts";
import type { ApplyOptions } from "./project-file/apply.ts";
import { addRemote, apiRemote, projectPath, type RemoteOptions } from "./remote.ts";

/** `project apply` and `project export`: a project as a file. They load the schemas of the API, which other commands do not need. */
export function addProjectFileCommands(project: Command): void {
  addRemote(project.command("apply"))
    .description("create or change a project so that it is as a file says, and show what differs")
    .requiredOption("-f, --file <file>", "the file; - is the standard input", textValue)
    .option("--project <project>", "the project to change; otherwise the one with the file's name", textValue)
    .option("--dry-run", "only show what differs")
    .option("--secrets [variables...]", "send stored secrets again: all, or those of these shell variables")
    .action(async (options: ApplyOptions) =>
      (await import("./project-file/apply.ts")).applyProjectFile(options),
    );
  addRemote(project.command("export <project>"))
    .description("print the file of a project: all settings, and the names of its secrets")
    .action(async (name: string, options: RemoteOptions) => {
      const { readState } = await import("./project-file/settings.ts");
      const { writeProjectFile } = await import("./project-file/export.ts");
      const api = apiRemote(options);
      const file = writeProjectFile(await readState(api, await projectPath(api, name)));
      print(options, { file }, () => file.trimEnd());
    });
}
