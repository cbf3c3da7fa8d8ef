import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Command, Option } from "commander";
import { runnerFolders, runnerUserOf, secretPathsOf } from "../app/runner-folder.ts";
import { type Config, startSecrets } from "../config/config.ts";
import { originalEnvironment, reachDirectly } from "../direct-hosts.ts";
import { Fault } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Sentence } from "../reason/reason.ts";
import { requireProcessGroups } from "../runner/process/process-groups.ts";
import type { ServerAddress } from "../runner/server/server-client.ts";
import { credentialFile, readTokenFile } from "../runner/server/token-file.ts";
import { version } from "../version.ts";
import { hideOwnProcess } from "./own-process.ts";
import { addRunnerList } from "./remote/runner-list.ts";
import { addSettings, configFrom } from "./settings-options.ts";

/** Under npm, one Ctrl-C arrives twice: from the terminal and from npm. */
const sameSignalMs = 500;

/** How long a local runner runs without a server. */
const localEndsAloneAfterMs = 5 * 60_000;
const lookEveryMs = 5000;

/** `runner`: executes tasks, on this or another machine. */
export function addRunnerCommand(program: Command): void {
  const runner = program.command("runner");
  addRunnerList(runner);
  addSettings(runner.enablePositionalOptions())
    .description("run tasks for a deploy service: slipway runner --server URL --token T")
    .option("--server <url>", "address of the deploy service (runner.server)")
    .option("--token-file <file>", "file with the token of this runner (runner.tokenFile)")
    .option("--token <token>", "the token itself (runner.token; SLIPWAY_RUNNER_TOKEN or a file is safer)")
    .option("--labels <labels>", "labels to offer, comma-separated (runner.labels)")
    .addOption(new Option("--also-unlabelled").hideHelp())
    .addOption(new Option("--local <file>").hideHelp())
    .addOption(new Option("--secret-path <path...>").hideHelp())
    .action(async (options: Record<string, unknown>) => {
      const config = await configFrom({
        ...options,
        ...aliased(options, "server", "runnerServer"),
        ...aliased(options, "token", "runnerToken"),
        ...aliased(options, "tokenFile", "runnerTokenFile"),
        ...aliased(options, "labels", "runnerLabels"),
        // A flag of 1.0, refused as the setting is.
        ...(options.alsoUnlabelled === true ? { runnerAlsoUnlabelled: "true" } : {}),
      });
      const local = typeof options.local === "string" ? options.local : null;
      const secretPaths = Array.isArray(options.secretPath) ? options.secretPath.map(String) : [];
      await run(config, local, [...secretPathsOf(config), ...secretPaths]);
      process.exit(0);
    });
}

function aliased(options: Record<string, unknown>, from: string, to: string): Record<string, unknown> {
  return options[from] === undefined ? {} : { [to]: options[from] };
}

async function run(config: Config, local: string | null, secretPaths: string[]): Promise<void> {
  requireProcessGroups();
  // Before other modules are loaded, as in serve-commands.ts.
  const { fault } = await hideOwnProcess(startSecrets);
  const [{ buildLogger }, { runRunner }, { systemClock }] = await Promise.all([
    import("../logger.ts"),
    import("../runner/run/runner.ts"),
    import("../clock.ts"),
  ]);
  const log = buildLogger(config["log.level"], config["log.format"]);
  if (fault !== null) log.warn({ fault }, "scripts can read the memory of this runner, including its token");
  if (config["runner.scriptUser"] !== undefined)
    log.warn("runner.scriptUser is the old name of runner.user: rename the setting");
  const drain = new AbortController();
  const abandon = new AbortController();
  let drainingSince = 0;
  const beginDrain = () => {
    drainingSince = performance.now();
    drain.abort();
  };
  let endsServices = false;
  // The first signal lets tasks finish; a second one ends them. Services end only if a person ends the runner.
  const onSignal = (signal: NodeJS.Signals) => {
    endsServices ||= signal === "SIGINT";
    if (!drain.signal.aborted) beginDrain();
    else if (performance.now() - drainingSince > sameSignalMs) abandon.abort();
  };
  const drainIfDismissed = () => {
    if (local !== null && isDismissed(local) && !drain.signal.aborted) beginDrain();
  };
  setInterval(drainIfDismissed, lookEveryMs).unref();
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  const address = local === null ? remoteAddress(config, log) : localAddress(local);
  let isolationNote: Sentence | undefined;
  await runRunner({
    address: () => ({ ...address(), isolationNote }),
    labels: config["runner.labels"],
    concurrency: config["tasks.concurrency"],
    folders: runnerFolders(config),
    execution: {
      user: runnerUserOf(config),
      isolation: config["runner.isolation"],
      sandboxPaths: config["runner.sandboxPaths"],
      hostSteps: config["runner.hostSteps"],
      secretPaths,
      engine: config["runner.engine"],
      engineArguments: config["runner.engineArguments"],
      image: config["runner.image"],
      bounds: { memoryBytes: config["runner.maxMemory"] || null, cpus: config["runner.maxCpus"] || null },
      onNotIsolated: (why) => {
        isolationNote = why;
      },
    },
    services: {
      ports: config["runner.ports"],
      output: {
        maxBytes: config["runner.serviceOutput"],
        maxAgeMs: config["runner.serviceOutputAge"] * 86_400_000,
      },
    },
    proxy: {
      proxy: config["runner.proxy"],
      caddy: config["runner.caddy"],
      caddyProgram: config["runner.caddyProgram"],
      httpPort: config["runner.httpPort"],
      httpsPort: config["runner.httpsPort"],
      acme: config["runner.acme"],
      acmeEmail: config["runner.acmeEmail"],
      acmeRoots: config["runner.acmeRoots"],
      nginx: config["runner.nginx"],
      nginxReload: config["runner.nginxReload"],
    },
    cacheMaxBytes: config["runner.cacheMaxBytes"],
    workspacePolicy: config["runner.workspaces"],
    releases: config["runner.releases"],
    projectQuotaBytes: config["runner.projectQuota"] || null,
    stopGraceMs: config["tasks.stopGrace"],
    version,
    env: originalEnvironment(),
    clock: systemClock,
    log,
    endsAloneAfterMs: local === null ? null : localEndsAloneAfterMs,
    // The server registers the token of its local runner, so a refused token may become valid.
    endsWhenRefused: local === null,
    drain: drain.signal,
    abandon: abandon.signal,
    endsServices: () => endsServices,
  });
}

/** Whether the data folder was deleted, or `local.pid` names another process: two would interfere with each other. */
function isDismissed(addressFile: string): boolean {
  if (!existsSync(addressFile)) return true;
  try {
    const { pid } = JSON.parse(readFileSync(join(dirname(addressFile), "local.pid"), "utf8")) as {
      pid: number;
    };
    return pid !== process.pid;
  } catch {
    return false;
  }
}

function remoteAddress(config: Config, log: Logger): () => ServerAddress {
  const server = config["runner.server"];
  const token = remoteToken(config, log);
  if (!server || !token)
    throw new Fault(
      "invalid",
      "A runner needs the address of its server and a token: slipway runner --server URL --token-file FILE. Create the token under Runners in the console.",
    );
  return () => ({ server, token });
}

/** The file is read once: the runner's user may not be able to open it again. */
function remoteToken(config: Config, log: Logger): string | undefined {
  const path = config["runner.tokenFile"];
  if (config["runner.token"] !== undefined && path !== undefined)
    throw new Fault("invalid", "Set runner.token or runner.tokenFile, not both: the runner has one token.");
  const file =
    path ?? (config["runner.token"] ? undefined : credentialFile(process.env.CREDENTIALS_DIRECTORY));
  if (file === undefined) return config["runner.token"];
  const { token, isOpenToOthers } = readTokenFile(file);
  if (isOpenToOthers)
    log.warn({ file }, "other users of this machine can read the runner's token: chmod 600");
  return token;
}

/** The token comes through a pipe. The address is read for each call, because a restarted server may use another port. */
function localAddress(file: string): () => ServerAddress {
  const { token } = readTokenFile("/dev/stdin");
  return () => {
    const { server } = JSON.parse(readFileSync(file, "utf8")) as Pick<ServerAddress, "server">;
    reachDirectly([new URL(server).hostname]);
    return { server, token };
  };
}
