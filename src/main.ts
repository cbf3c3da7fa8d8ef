import { isRole } from "./cli/roles.ts";
import { reachLoopbackDirectly } from "./direct-hosts.ts";
import { guardCommand } from "./runner/process/guard-command.ts";

reachLoopbackDirectly();

const [, , command, argument = ""] = process.argv;

// Each command loads its own modules alone: memory and time of a start are mostly those of loaded code. No await at the top
// level: the built program consists of CommonJS modules.
run().catch(async (error: unknown) => {
  const { fail } = await import("./cli/exit-codes.ts");
  fail(error);
});

async function run(): Promise<void> {
  if (command === guardCommand) return (await import("./cli/guard-process.ts")).runGuardProcess(argument);
  if (isRole(command)) await (await import("./system/client-connections.ts")).allowClientConnections();
  return (await import("./cli/program.ts")).runProgram(command);
}
