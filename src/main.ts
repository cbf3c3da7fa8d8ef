#!/usr/bin/env bun
import { Command, CommanderError } from "commander";
import { workerCommand } from "./app/worker-count.ts";
import { addAccountCommands } from "./cli/account-commands.ts";
import { addConfigCommands } from "./cli/config-commands.ts";
import { addDataCommands } from "./cli/data-commands.ts";
import { addDeployCommands } from "./cli/deploy-commands.ts";
import { exitCodeOf, exitCodes, exitCodesHelp, explain } from "./cli/exit-codes.ts";
import { addPushCommands } from "./cli/push-commands.ts";
import { addRunnerCommand, addRunnerHelpers } from "./cli/runner-command.ts";
import { addServeCommands, addWorkerCommand, isRole } from "./cli/serve-commands.ts";
import { reachLoopbackDirectly } from "./direct-hosts.ts";
import { build, version } from "./version.ts";
import { visibleText } from "./visible-text.ts";

reachLoopbackDirectly();

const program = new Command("slipway")
  .description("git push in, live deploys out: push gateway and deploy service in one program")
  .version(version, "--version")
  .addHelpText("after", exitCodesHelp)
  .showHelpAfterError("(add --help to see the usage)")
  .exitOverride();

const command = process.argv[2];
// The other commands with all their options would take longer to declare than the server to read its settings.
if (isRole(command)) addServeCommands(program, command);
else if (command === workerCommand) addWorkerCommand(program);
else addAllCommands();

function addAllCommands(): void {
  addServeCommands(program);
  addRunnerCommand(program);
  addRunnerHelpers(program);
  addConfigCommands(program);
  addPushCommands(program);
  addDeployCommands(program);
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

// No await at the top level: the built program is a CommonJS module.
program.parseAsync().catch((error: unknown) => {
  if (error instanceof CommanderError) {
    // Commander has already printed its message; --help is not an error.
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  } else {
    // The message may come from the server and contain untrusted text.
    process.stderr.write(`${visibleText(explain(error), "\n\t")}\n`);
    process.exitCode = exitCodeOf(error);
  }
});
