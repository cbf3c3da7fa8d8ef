import { Command, CommanderError } from "commander";
import { workerCommand } from "../app/worker-count.ts";
import { version } from "../version.ts";
import { exitCodes, exitCodesHelp } from "./exit-codes.ts";
import { isRole } from "./roles.ts";

/** Runs the command line. `called` is its first word. */
export async function runProgram(called: string | undefined): Promise<void> {
  const program = new Command("slipway")
    .description("git push in, live deploys out: push gateway and deploy service in one program")
    .version(version, "--version")
    .addHelpText("after", exitCodesHelp)
    .showHelpAfterError("(add --help to see the usage)")
    // The token of `runner list --token T` is one of the list, not of the runner.
    .enablePositionalOptions()
    .exitOverride();
  await addCommands(program, called);
  await program.parseAsync().catch((error: unknown) => {
    if (!(error instanceof CommanderError)) throw error;
    // Commander has already printed its message; --help is not an error.
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  });
}

/** Only those of a server or runner, if one is called. */
async function addCommands(program: Command, called: string | undefined): Promise<void> {
  if (isRole(called)) (await import("./serve-commands.ts")).addServeCommands(program, called);
  else if (called === workerCommand) (await import("./serve-commands.ts")).addWorkerCommand(program);
  else if (called === "runner") (await import("./runner-command.ts")).addRunnerCommand(program);
  else (await import("./all-commands.ts")).addAllCommands(program);
}
