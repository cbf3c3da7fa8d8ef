import type { Command } from "commander";
import type { AppRole } from "../app/part.ts";
import type { App } from "../app.ts";
import { startSecrets } from "../config/config.ts";
import { hideOwnProcess } from "../own-process.ts";
import { banner } from "./banner.ts";
import { addSettings, configFrom } from "./settings-options.ts";

const roles = {
  start: "run everything on one port: push gateway, deploy service, console and a local runner",
  push: "run the push gateway alone",
  deploy: "run the deploy service alone",
} as const satisfies Record<AppRole, string>;

export function isRole(command: string | undefined): command is AppRole {
  return command !== undefined && Object.hasOwn(roles, command);
}

/** `start`, `push` and `deploy`, or only the one that is asked for. */
export function addServeCommands(program: Command, only?: AppRole): void {
  for (const role of only ? [only] : (Object.keys(roles) as AppRole[])) {
    addSettings(program.command(role))
      .description(roles[role])
      .action(async (options: Record<string, unknown>) => {
        const config = await configFrom(options);
        // Before the slow imports: until this call, other processes of this user can read the environment.
        const { fault } = await hideOwnProcess(startSecrets);
        // Imported only here: the other commands start faster without the server's code.
        const [{ buildApp }, { buildLog }] = await Promise.all([import("../app.ts"), import("../log.ts")]);
        const log = buildLog(config["log.level"], config["log.format"]);
        if (fault !== null)
          log.warn({ fault }, "scripts can read the memory of this server, including its keys");
        const app = await buildApp(config, role, log);
        stopOnSignals(app);
        process.stderr.write(banner(app));
      });
  }
}

/** Under npm, one Ctrl-C arrives twice: from the terminal and from npm. */
const sameSignalMs = 500;

/** The first SIGTERM or SIGINT stops gracefully; a second one exits immediately. */
function stopOnSignals(app: App): void {
  let stoppingSince: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince < sameSignalMs) return;
      process.exit(signal === "SIGINT" ? 130 : 143);
    }
    stoppingSince = performance.now();
    app.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`Stopping failed: ${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}
