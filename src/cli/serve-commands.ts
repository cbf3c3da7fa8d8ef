import { closeSync, openSync } from "node:fs";
import type { Command } from "commander";
import type { AppRole } from "../app/app-context.ts";
import { buildBaseUrl } from "../app/base-url.ts";
import { rereadKeys } from "../app/codes/reread-keys.ts";
import { namingFullDisk } from "../app/system/full-disk.ts";
import { requireOpenFiles } from "../app/system/open-file-limit.ts";
import { workerCommand, workerCount } from "../app/worker-count.ts";
import { type Config, startSecrets } from "../config/config.ts";
import { Fault } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { WorkerStart } from "../workers/protocol.ts";
import { banner, type Running, readyLine } from "./banner.ts";
import { exitCodes } from "./exit-codes.ts";
import { hideOwnProcess } from "./own-process.ts";
import { addTraceCommand } from "./remote/trace-command.ts";
import { roles } from "./roles.ts";
import { addSettings, configFrom, settingsReader } from "./settings-options.ts";

/** `start`, `push` and `deploy`, or only the requested one. */
export function addServeCommands(program: Command, only?: AppRole): void {
  for (const role of only ? [only] : (Object.keys(roles) as AppRole[])) {
    const command = addSettings(program.command(role)).description(roles[role]);
    if (role === "push") {
      command.option(
        "--workers <count>",
        "processes that share the port, or auto: one per core (push.workers)",
      );
      addTraceCommand(command);
    }
    command.action(async (options: Record<string, unknown>) => {
      requireOpenFiles();
      const read = settingsReader(
        options.workers === undefined ? options : { ...options, pushWorkers: options.workers },
      );
      const config = await read();
      // Until the server runs, the settings are new anyway.
      let onHangUp = async () => {};
      process.on("SIGHUP", () => void onHangUp());
      // Before the slow imports: until this call, other processes of this user can read the environment.
      const { fault } = await hideOwnProcess(startSecrets);
      // Imported only here: the other commands start faster without the server's code.
      const [{ buildApp }, { buildLogger }] = await Promise.all([
        import("../app.ts"),
        import("../logger.ts"),
      ]);
      const log = buildLogger(config["log.level"], config["log.format"]);
      if (fault !== null)
        log.warn({ fault }, "scripts can read the memory of this server, including its keys");
      const workers = role === "push" ? workerCount(config["push.workers"]) : 1;
      const starting = workers > 1 ? supervise(config, workers, log) : buildApp(config, role, log);
      const app = await namingFullDisk(config, starting);
      const stop = stopOnSignals(app);
      const reread = rereadKeys({ config, read, replace: app.replaceKeys, log });
      const hasTerminal = isTerminalOpen();
      onHangUp = async () => (hasTerminal && !isTerminalOpen() ? stop("SIGHUP") : reread());
      await reportStart(app);
    });
  }
}

/** While it is not ready, the first line says why, and another one follows when it is. */
async function reportStart(app: Running): Promise<void> {
  const missing = await app.missing();
  process.stderr.write(banner(app, missing));
  if (missing === null) return;
  while ((await app.missing()) !== null) await Bun.sleep(askReadyEveryMs);
  process.stderr.write(`${readyLine(app)}\n`);
}

/** Whether this process has a terminal: closing it sends SIGHUP to everything that was started there. */
function isTerminalOpen(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

/** A worker process of `push`, started by its supervisor. */
export function addWorkerCommand(program: Command): void {
  program.command(workerCommand, { hidden: true }).action(async () => {
    const start = JSON.parse(await Bun.stdin.text()) as WorkerStart;
    const { fault } = await hideOwnProcess(startSecrets);
    // The supervisor decides when a worker stops and which keys it has, also if a signal reaches all processes of a service.
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
    const { runWorker } = await import("../app/run-worker.ts");
    await runWorker(start, fault);
  });
}

async function supervise(config: Config, workers: number, log: Logger): Promise<Running> {
  const { superviseWorkers } = await import("../app/supervise.ts");
  const app: Running = await superviseWorkers(config, workers, log, (reason) => {
    process.stderr.write(`The gateway ends: ${reason}.\n`);
    app.stop().finally(() => process.exit(exitCodes.failed));
  });
  return app;
}

/** Under npm, one Ctrl-C arrives twice: from the terminal and from npm. */
const sameSignalMs = 500;
const askReadyEveryMs = 250;

/** The first SIGTERM or SIGINT stops gracefully; a second one exits immediately. Returns what such a signal does. */
function stopOnSignals(app: Running): (signal: NodeJS.Signals) => void {
  let stoppingSince: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince < sameSignalMs) return;
      process.exit(signal === "SIGINT" ? 130 : 143);
    }
    stoppingSince = performance.now();
    app.stop(signal).then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`Stopping failed: ${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  return onSignal;
}

/** A health check of a container kills a command that takes longer than a few seconds. */
const answersWithinMs = 3000;

/** `health`: for images that have no other HTTP client. */
export function addHealthCommand(program: Command): void {
  addSettings(program.command("health"))
    .description(
      "exit with 0 if the server with these settings is alive on this machine (/livez), and with 3 if not",
    )
    .action(async (options: Record<string, unknown>) => {
      const { "server.listen": listen } = await configFrom(options);
      const { url } = buildBaseUrl(undefined, listen).current();
      const answer = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(answersWithinMs) }).catch(
        () => null,
      );
      if (!answer?.ok) throw new Fault("unavailable", `No server is alive at ${url}.`);
      process.stdout.write(`The server at ${url} is alive.\n`);
    });
}
