import { resolve } from "node:path";
import type { Command } from "commander";
import { runnerFolders } from "../app/runner-folder.ts";
import type { DataBackup } from "../runner/service/service-data.ts";
import { print } from "./output.ts";
import { addSettings, configFrom } from "./settings-options.ts";

type Options = Record<string, unknown>;

const projectText = "a project is given by its id, or by the name that its services have here";

/** `service backup` and `service restore`: they work on the folder of the runner itself, not through a server. */
export function addServiceDataCommands(service: Command): void {
  addSettings(service.command("backup <project>"))
    .description(
      `write the data folders of a project into one file, on the machine of its runner; ${projectText}`,
    )
    .requiredOption("--file <file>", "the new file, such as shop.tar.zst")
    .option("--json", "print JSON")
    .action(async (project: string, options: Options) => {
      const { root, file } = await placesOf(options);
      const { backUpData, projectIdIn } = await import("../runner/service/service-data.ts");
      const backup = await backUpData(root, projectIdIn(root, project), file);
      print(options, backup, () => backedUpText(backup));
    });
  addSettings(service.command("restore <project>"))
    .description(
      `put a backup in the place of the data folders of a project whose services are stopped; ${projectText}`,
    )
    .requiredOption("--file <file>", "a file that `slipway service backup` wrote")
    .option("--json", "print JSON")
    .action(async (project: string, options: Options) => {
      const { root, file } = await placesOf(options);
      const { projectIdIn, restoreData } = await import("../runner/service/service-data.ts");
      const projectId = projectIdIn(root, project);
      const earlier = await restoreData(root, projectId, file);
      print(options, { projectId, earlier }, () => restoredText(projectId, earlier));
    });
}

/** The folder of the runner, and the file of the backup. */
async function placesOf(options: Options): Promise<{ root: string; file: string }> {
  const { root } = runnerFolders(await configFrom(options));
  return { root, file: resolve(String(options.file)) };
}

export function backedUpText({ projectId, file, running, changed }: DataBackup): string {
  const lines = [`Backed up the data of project ${projectId} into ${file}.`];
  if (running.length > 0)
    lines.push(
      `Running meanwhile: ${running.join(", ")}. Files that a service was writing may not fit together: stop it for a backup, or back up a dump of its database.`,
    );
  if (changed !== "") lines.push(changed);
  return lines.join("\n");
}

function restoredText(projectId: number, earlier: string | null): string {
  const done = `Restored the data of project ${projectId}.`;
  if (earlier === null) return done;
  return `${done} What was there before is in ${earlier}: remove it when nobody needs it.`;
}
