import type { Command } from "commander";
import { build, version } from "../version.ts";
import { addConfigCommands } from "./config-commands.ts";
import { addDataCommands } from "./data-commands.ts";
import { addAccountCommands } from "./remote/account-commands.ts";
import { addDeployCommands } from "./remote/deploy-commands.ts";
import { addPipelineCommands } from "./remote/pipeline-commands.ts";
import { addPushCommands } from "./remote/push-commands.ts";
import { addRunnerCommand } from "./runner-command.ts";
import { addHealthCommand, addServeCommands } from "./serve-commands.ts";

export function addAllCommands(program: Command): void {
  addServeCommands(program);
  addHealthCommand(program);
  addRunnerCommand(program);
  addConfigCommands(program);
  addPushCommands(program);
  addDeployCommands(program);
  addPipelineCommands(program);
  addAccountCommands(program);
  addDataCommands(program);
  program
    .command("version")
    .description("print the version, the commit and the build")
    .option("--json", "print JSON")
    .action((options: { json?: boolean }) => {
      const from = build === null ? "from sources" : `commit ${build.commit}, ${build.target}`;
      const fields = {
        version,
        bun: Bun.version,
        commit: build?.commit ?? null,
        build: build?.target ?? null,
      };
      process.stdout.write(options.json ? `${JSON.stringify(fields)}\n` : `${version} (${from})\n`);
    });
}
